#include "synth/synthesize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "store/safetensors_writer.h"
#include "synth/row_pool.h"
#include "synth/tensors.h"
#include "synth/token_vectors.h"
#include "sys/file.h"
#include "sys/file_writer.h"
#include "tensor/format.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kChunkBytes = 4U << 20;
constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;
constexpr uint64_t kSpareBytes = uint64_t{64} << 20;  // of the drive, for headers and text

// Of experts in files.
std::optional<Format> FileFormat(std::string_view name) {
  const std::optional<Format> format = ParseFormat(name);
  return format && format->id != FormatId::kMxfp4 ? format : std::nullopt;
}

// The tensors of every file.
using Files = std::vector<std::vector<SynthTensor>>;

Status CheckCancelled(const SynthOptions& options) {
  return options.cancelled && options.cancelled()
             ? Status(Fail(ErrorCode::kCancelled, "interrupted"))
             : Ok();
}

Result<Files> ListFiles(const SynthOptions& options, Format experts) {
  Files files = {EndTensors(options.shape)};
  for (uint32_t layer = 0; layer < options.shape.num_hidden_layers; ++layer) {
    COLI_RETURN_IF_ERROR(CheckCancelled(options));
    files.push_back(LayerTensors(options.shape, layer, experts));
  }
  return files;
}

uint64_t BytesOf(const std::vector<SynthTensor>& tensors) {
  uint64_t bytes = 0;
  for (const SynthTensor& tensor : tensors) {
    bytes += tensor.code_bytes() + tensor.scale_bytes();
  }
  return bytes;
}

uint64_t BytesOf(const Files& files) {
  uint64_t bytes = 0;
  for (const std::vector<SynthTensor>& tensors : files) {
    bytes += BytesOf(tensors);
  }
  return bytes;
}

// The files of one model.
class Writer {
 public:
  Writer(const SynthOptions& options, const Files& files)
      : options_(options), files_of_tensors_(files), total_(BytesOf(files)) {}

  Status Run() {
    for (const fs::path& file : options_.text_files) {
      COLI_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, kMaxTextBytes));
      COLI_RETURN_IF_ERROR(WriteText(file.filename(), text));
    }
    for (size_t number = 0; number < files_of_tensors_.size(); ++number) {
      COLI_RETURN_IF_ERROR(WriteFile(number, files_of_tensors_[number]));
      tokens_.clear();
    }
    return WriteText("config.json", ConfigText(options_.shape));
  }

  // What there is of the model, should it not become one.
  void Remove() const {
    for (const fs::path& file : files_) {
      std::error_code error;
      fs::remove(file, error);
    }
  }

 private:
  Status WriteText(const fs::path& name, const std::string& text) {
    COLI_RETURN_IF_ERROR(WriteNewTextFile(options_.out / name, text));
    files_.push_back(options_.out / name);
    return Ok();
  }

  // All scales first, then everything else: an expert is two runs of bytes.
  Status WriteFile(size_t number, const std::vector<SynthTensor>& tensors) {
    std::vector<TensorEntry> entries;
    for (const SynthTensor& tensor : tensors) {
      if (tensor.scale_bytes() > 0) {
        entries.push_back(tensor.scales());
      }
    }
    for (const SynthTensor& tensor : tensors) {
      entries.push_back(tensor.codes());
    }
    const fs::path path = options_.out / fmt::format("out-{:05}.safetensors", number);
    COLI_ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::Create(path, entries, {}));
    files_.push_back(path);
    if (options_.sparse) {
      COLI_RETURN_IF_ERROR(Skip(BytesOf(tensors), writer));
      return writer.Finish();
    }
    for (const SynthTensor& tensor : tensors) {
      COLI_RETURN_IF_ERROR(WriteScales(tensor, writer));
    }
    for (const SynthTensor& tensor : tensors) {
      COLI_RETURN_IF_ERROR(WriteCodes(tensor, writer));
    }
    return writer.Finish();
  }

  Status WriteScales(const SynthTensor& tensor, SafetensorsWriter& writer) {
    if (tensor.scale_bytes() == 0) {
      return Ok();
    }
    if (tensor.kind != SynthKind::kMatrix) {
      COLI_ASSIGN_OR_RETURN(const TokenMatrix* matrix, Tokens(tensor));
      return Append(matrix->scales, writer);
    }
    COLI_ASSIGN_OR_RETURN(const RowPool* pool, PoolFor(tensor));
    chunk_.clear();
    pool->AppendScales(SeedOf(tensor), tensor.rows, chunk_);
    return Append(chunk_, writer);
  }

  Status WriteCodes(const SynthTensor& tensor, SafetensorsWriter& writer) {
    switch (tensor.kind) {
      case SynthKind::kMatrix:
        return WriteMatrix(tensor, writer);
      case SynthKind::kConstant:
      case SynthKind::kNormal: {
        const std::vector<float> values = MakeVector(tensor);
        return Append(std::as_bytes(std::span(values)), writer);
      }
      case SynthKind::kEmbedding:
      case SynthKind::kHead:
        break;
    }
    COLI_ASSIGN_OR_RETURN(const TokenMatrix* matrix, Tokens(tensor));
    return Append(matrix->codes, writer);
  }

  Status WriteMatrix(const SynthTensor& tensor, SafetensorsWriter& writer) {
    COLI_ASSIGN_OR_RETURN(const RowPool* pool, PoolFor(tensor));
    const uint64_t row_bytes = Info(tensor.format).row_bytes(tensor.cols);
    const auto step = static_cast<uint32_t>(std::max<uint64_t>(kChunkBytes / row_bytes, 1));
    for (uint32_t begin = 0; begin < tensor.rows; begin += std::min(step, tensor.rows - begin)) {
      chunk_.clear();
      pool->AppendCodes(SeedOf(tensor), begin, begin + std::min(step, tensor.rows - begin), chunk_);
      COLI_RETURN_IF_ERROR(Append(chunk_, writer));
    }
    return Ok();
  }

  std::vector<float> MakeVector(const SynthTensor& tensor) const {
    std::vector<float> values(tensor.cols, tensor.deviation);
    if (tensor.kind == SynthKind::kNormal) {
      std::mt19937_64 generator(SeedOf(tensor));
      std::normal_distribution<float> normal;
      for (float& value : values) {
        value = tensor.deviation * normal(generator);
      }
    }
    return values;
  }

  Result<const TokenMatrix*> Tokens(const SynthTensor& tensor) {
    auto found = tokens_.find(tensor.kind);
    if (found == tokens_.end()) {
      const auto make = tensor.kind == SynthKind::kHead ? MakeHead : MakeEmbedding;
      COLI_ASSIGN_OR_RETURN(TokenMatrix matrix, make(tensor.rows, tensor.cols, options_.seed));
      found = tokens_.emplace(tensor.kind, std::move(matrix)).first;
    }
    return &found->second;
  }

  Status Append(std::span<const std::byte> bytes, SafetensorsWriter& writer) {
    COLI_RETURN_IF_ERROR(CheckCancelled(options_));
    COLI_RETURN_IF_ERROR(writer.Append(bytes));
    Report(bytes.size());
    return Ok();
  }

  Status Skip(uint64_t bytes, SafetensorsWriter& writer) {
    COLI_RETURN_IF_ERROR(CheckCancelled(options_));
    COLI_RETURN_IF_ERROR(writer.Skip(bytes));
    Report(bytes);
    return Ok();
  }

  void Report(uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) {
      options_.progress(done_, total_);
    }
  }

  Result<const RowPool*> PoolFor(const SynthTensor& tensor) {
    const auto key =
        std::tuple(tensor.format.id, tensor.format.group, tensor.cols, tensor.deviation);
    auto found = pools_.find(key);
    if (found == pools_.end()) {
      COLI_ASSIGN_OR_RETURN(RowPool pool, RowPool::Create(tensor.format, tensor.cols,
                                                          tensor.deviation, options_.seed));
      found = pools_.emplace(key, std::move(pool)).first;
    }
    return &found->second;
  }

  uint64_t SeedOf(const SynthTensor& tensor) const {
    uint64_t seed = options_.seed;
    for (const char c : tensor.name) {
      seed = MixSeeds(seed, static_cast<unsigned char>(c));
    }
    return seed;
  }

  const SynthOptions& options_;
  const Files& files_of_tensors_;
  const uint64_t total_;
  uint64_t done_ = 0;
  std::vector<fs::path> files_;
  std::map<SynthKind, TokenMatrix> tokens_;  // of this file: their scales come before their codes
  std::map<std::tuple<FormatId, uint32_t, uint32_t, float>, RowPool> pools_;
  std::vector<std::byte> chunk_;
};

// Whether `directory` is empty and on a drive with room for so many bytes of weights.
Status CheckDirectory(const fs::path& directory, uint64_t bytes) {
  std::error_code error;
  const bool empty = fs::is_empty(directory, error);
  if (error) {
    return Fail(ErrorCode::kIo, "{}: {}", directory.string(), error.message());
  }
  if (!empty) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: expected a new or an empty directory, found files in it", directory.string());
  }
  const uint64_t needed = bytes + kSpareBytes;
  const fs::space_info space = fs::space(directory, error);
  if (!error && space.available < needed) {
    return Fail(ErrorCode::kIo, "{}: the model takes {:.1f} GB, the drive has {:.1f} GB left",
                directory.string(), static_cast<double>(needed) / 1e9,
                static_cast<double>(space.available) / 1e9);
  }
  return Ok();
}

Status Write(const SynthOptions& options, const Files& files) {
  COLI_RETURN_IF_ERROR(CheckDirectory(options.out, options.sparse ? 0 : BytesOf(files)));
  Writer writer(options, files);
  Status written = writer.Run();
  if (!written) {
    writer.Remove();
  }
  return written;
}

}  // namespace

bool IsFileFormat(std::string_view name) { return FileFormat(name).has_value(); }

Result<uint64_t> Synthesize(const SynthOptions& options) {
  const std::optional<Format> experts = FileFormat(options.expert_format);
  if (!experts) {
    return Fail(ErrorCode::kUnsupported, "expert-format: expected a format of files, found \"{}\"",
                options.expert_format);
  }
  COLI_ASSIGN_OR_RETURN(const Files files, ListFiles(options, *experts));
  std::error_code error;
  const bool made = fs::create_directories(options.out, error);
  if (error) {
    return Fail(ErrorCode::kIo, "{}: cannot make this directory: {}", options.out.string(),
                error.message());
  }
  if (Status written = Write(options, files); !written) {
    if (made) {
      fs::remove(options.out, error);
    }
    return tl::unexpected<Error>(std::move(written).error());
  }
  return BytesOf(files);
}

}  // namespace coli
