#include "synth/synthesize.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/json.h"
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

bool IsRouted(const SynthTensor& tensor) {
  return tensor.name.find(".experts.") != std::string::npos;
}

// Of experts in files.
Result<Format> FileFormat(const std::string& name) {
  const std::optional<Format> format = ParseFormat(name);
  if (!format || format->id == FormatId::kMxfp4) {
    return Fail(ErrorCode::kUnsupported, "expert-format: files have no format \"{}\"", name);
  }
  return *format;
}

// The files of one model.
class Writer {
 public:
  Writer(const SynthOptions& options, Format experts)
      : options_(options), experts_(experts), total_(SynthBytes(options)) {}

  Status Run() {
    uint32_t number = 0;
    COLI_RETURN_IF_ERROR(WriteFile(number++, EndTensors(options_.shape)));
    for (uint32_t layer = 0; layer < options_.shape.num_hidden_layers; ++layer) {
      COLI_RETURN_IF_ERROR(WriteFile(number++, LayerTensors(options_.shape, layer, experts_)));
    }
    for (const fs::path& file : options_.text_files) {
      COLI_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, kMaxTextBytes));
      COLI_RETURN_IF_ERROR(WriteText(file.filename(), text));
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
    files_.push_back(options_.out / name);
    return WriteNewTextFile(files_.back(), text);
  }

  // All scales, vectors and f32 matrices first, then the codes: the order of published containers.
  Status WriteFile(uint32_t number, const std::vector<SynthTensor>& tensors) {
    std::vector<TensorEntry> entries;
    OrderedJson stamps = OrderedJson::object();
    for (const SynthTensor& tensor : tensors) {
      if (tensor.scale_bytes() > 0) {
        entries.push_back(tensor.scales());
      }
      if (tensor.format.id == FormatId::kInt8Row && !IsRouted(tensor)) {
        stamps[tensor.name] = Info(tensor.format).name;
      }
    }
    for (const SynthTensor& tensor : tensors) {
      entries.push_back(tensor.codes());
    }
    files_.push_back(options_.out / fmt::format("out-{:05}.safetensors", number));
    COLI_ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::Create(files_.back(), entries,
                                                                 {{"colibri.fmt", stamps.dump()}}));
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
      COLI_ASSIGN_OR_RETURN(const TokenMatrix matrix, Tokens(tensor));
      return Append(matrix.scales, writer);
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
    COLI_ASSIGN_OR_RETURN(const TokenMatrix matrix, Tokens(tensor));
    return Append(matrix.codes, writer);
  }

  Status WriteMatrix(const SynthTensor& tensor, SafetensorsWriter& writer) {
    COLI_ASSIGN_OR_RETURN(const RowPool* pool, PoolFor(tensor));
    const auto row_bytes = std::max<uint64_t>(tensor.code_bytes() / tensor.rows, 1);
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

  Result<TokenMatrix> Tokens(const SynthTensor& tensor) const {
    return tensor.kind == SynthKind::kHead ? MakeHead(tensor.rows, tensor.cols, options_.seed)
                                           : MakeEmbedding(tensor.rows, tensor.cols, options_.seed);
  }

  Status Append(std::span<const std::byte> bytes, SafetensorsWriter& writer) {
    if (options_.cancelled && options_.cancelled()) {
      return Fail(ErrorCode::kCancelled, "interrupted");
    }
    COLI_RETURN_IF_ERROR(writer.Append(bytes));
    done_ += bytes.size();
    if (options_.progress) {
      options_.progress(done_, total_);
    }
    return Ok();
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
  const Format experts_;
  const uint64_t total_;
  uint64_t done_ = 0;
  std::vector<fs::path> files_;
  std::map<std::tuple<FormatId, uint32_t, uint32_t, float>, RowPool> pools_;
  std::vector<std::byte> chunk_;
};

// An empty directory on a drive with enough room.
Status PrepareDirectory(const SynthOptions& options) {
  std::error_code error;
  fs::create_directories(options.out, error);
  const bool empty = !error && fs::is_empty(options.out, error);
  if (error) {
    return Fail(ErrorCode::kIo, "{}: {}", options.out.string(), error.message());
  }
  if (!empty) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: expected a new or an empty directory, found files in it",
                options.out.string());
  }
  const uint64_t needed = SynthBytes(options) + kSpareBytes;
  const fs::space_info space = fs::space(options.out, error);
  if (!error && space.available < needed) {
    return Fail(ErrorCode::kIo, "{}: the model takes {} MB, the drive has {} MB left",
                options.out.string(), needed / 1'000'000, space.available / 1'000'000);
  }
  return Ok();
}

}  // namespace

uint64_t SynthBytes(const SynthOptions& options) {
  uint64_t bytes = 0;
  const auto count = [&bytes](const std::vector<SynthTensor>& tensors) {
    for (const SynthTensor& tensor : tensors) {
      bytes += tensor.code_bytes() + tensor.scale_bytes();
    }
  };
  const auto format = FileFormat(options.expert_format);
  if (!format) {
    return 0;
  }
  count(EndTensors(options.shape));
  for (uint32_t layer = 0; layer < options.shape.num_hidden_layers; ++layer) {
    count(LayerTensors(options.shape, layer, *format));
  }
  return bytes;
}

Status Synthesize(const SynthOptions& options) {
  COLI_ASSIGN_OR_RETURN(const Format experts, FileFormat(options.expert_format));
  COLI_RETURN_IF_ERROR(PrepareDirectory(options));
  Writer writer(options, experts);
  Status written = writer.Run();
  if (!written) {
    writer.Remove();
  }
  return written;
}

}  // namespace coli
