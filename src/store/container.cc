#include "store/container.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/json.h"
#include "store/finite.h"
#include "store/recognition.h"

namespace coli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".safetensors";
constexpr std::string_view kReferenceName =
    "reference.safetensors";  // expected results beside a test model
constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kScalesSuffix = ".qs";
constexpr std::string_view kFp8ScalesSuffix = "_scale_inv";  // multipliers, in spite of the name
constexpr std::string_view kStampsKey = "colibri.fmt";
constexpr size_t kMaxStamps = 4096;
constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20;
constexpr size_t kMaxIndexValues = size_t{4} << 20;
constexpr size_t kMostOpeners = 8;

bool IsWeightsFile(std::string_view name) {
  return name.ends_with(kExtension) && !name.starts_with('.') && name != kReferenceName;
}

// Weights in files that are not read here, for the message when there are no others.
bool IsForeignWeightsFile(std::string_view name) {
  return name.ends_with(".gguf") || name.ends_with(".bin") || name.ends_with(".pt") ||
         name.ends_with(".pth");
}

struct Listing {
  std::vector<fs::path> weights;  // by name
  std::string foreign;            // the name of one foreign weights file, if any
};

Result<Listing> List(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) {
    return Fail(ErrorCode::kNotFound, "{}: expected a model directory, found nothing",
                directory.string());
  }
  if (!fs::is_directory(status)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected a model directory, found a file",
                directory.string());
  }
  Listing listing;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (IsWeightsFile(name)) {
      listing.weights.push_back(entry->path());
    } else if (IsForeignWeightsFile(name)) {
      listing.foreign = name;
    }
  }
  if (error) {
    return Fail(ErrorCode::kIo, "{}: cannot be listed: {}", directory.string(), error.message());
  }
  std::ranges::sort(listing.weights);
  return listing;
}

// The float format of a dtype; nothing for integers and what is not implemented.
std::optional<FormatId> FloatFormat(DType dtype) {
  if (dtype == DType::kF32) {
    return FormatId::kF32;
  }
  if (dtype == DType::kBf16) {
    return FormatId::kBf16;
  }
  if (dtype == DType::kF16) {
    return FormatId::kF16;
  }
  return std::nullopt;
}

bool IsCodes(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

std::string Place(const StoredTensor& tensor, std::string_view name) {
  return fmt::format("{}: tensor {}", tensor.file->path(), name);
}

std::string Describe(const StoredTensor& tensor) {
  return fmt::format("{} {}", Name(tensor.dtype), ShapeText(tensor.shape));
}

// Error unless the tensor has the shape [rows, cols].
Status RequireShape(const StoredTensor& tensor, std::string_view name, uint64_t rows,
                    uint64_t cols) {
  if (tensor.shape == std::vector<uint64_t>{rows, cols}) {
    return Ok();
  }
  return Fail(ErrorCode::kCorrupt, "{}: expected shape [{}, {}], found {}", Place(tensor, name),
              rows, cols, Describe(tensor));
}

tl::unexpected<Error> UnsupportedDType(const StoredTensor& tensor, std::string_view name) {
  return Fail(ErrorCode::kUnsupported,
              "{}: expected F32, BF16, F16, F8_E4M3 or U8 with scales, found {}, which is not "
              "implemented",
              Place(tensor, name), Describe(tensor));
}

using OpenedFile = Result<std::unique_ptr<SafetensorsFile>>;

// Also on a thread where nobody catches what the standard library throws when memory is short.
OpenedFile OpenWeights(const fs::path& path) {
  try {
    return SafetensorsFile::Open(path);
  } catch (const std::bad_alloc&) {
    return tl::unexpected(Error{ErrorCode::kNotEnoughMemory, "no memory for headers"});
  }
}

// Several at a time: the headers of a large model are many megabytes of text.
std::vector<OpenedFile> OpenAll(const std::vector<fs::path>& paths) {
  std::vector<OpenedFile> files(paths.size());
  std::atomic<size_t> next = 0;
  const auto open_some = [&] {
    for (size_t i = next++; i < paths.size(); i = next++) {
      files[i] = OpenWeights(paths[i]);
    }
  };
  const size_t threads =
      std::min<size_t>({paths.size(), std::thread::hardware_concurrency(), kMostOpeners});
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < threads) {
      helpers.emplace_back(open_some);
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: fewer do it, too.
  }
  open_some();
  helpers.clear();  // waits for them
  return files;
}

Extent ExtentOf(const StoredTensor& tensor) { return {tensor.file, tensor.offset, tensor.bytes}; }

// Stamps speak of dense tensors only: there are too many routed experts to list.
bool IsRoutedExpert(std::string_view name) {
  return name.find(".experts.") != std::string_view::npos;
}

}  // namespace

std::string Place(const StoredMatrix& matrix) {
  return fmt::format("{}: tensor {}", matrix.codes.file->path(), matrix.name);
}

StoredMatrix StoredMatrix::Rows(uint32_t begin, uint32_t count) const {
  COLI_CHECK(scales.bytes == 0 && begin <= rows && count > 0 && count <= rows - begin);
  const uint64_t element_bytes = Info(format).row_bytes(1);
  const uint64_t row_distance = column_stride != 0 ? 1 : cols;
  StoredMatrix part = *this;
  if (count != rows) {
    part.name += fmt::format(", rows from {}", begin);  // errors count from there
  }
  part.rows = count;
  part.codes.offset += begin * row_distance * element_bytes;
  part.codes.bytes -= (rows - count) * row_distance * element_bytes;
  return part;
}

StoredMatrix StoredMatrix::Transposed() const {
  COLI_CHECK(scales.bytes == 0 && column_stride == 0);
  StoredMatrix transposed = *this;
  std::swap(transposed.rows, transposed.cols);
  transposed.column_stride = cols;
  return transposed;
}

Result<Container> Container::Open(const fs::path& directory) {
  COLI_ASSIGN_OR_RETURN(const Listing listing, List(directory));
  if (listing.weights.empty()) {
    return Fail(ErrorCode::kNotFound, "{}: expected weights in *{} files, found none{}",
                directory.string(), kExtension,
                listing.foreign.empty()
                    ? ""
                    : fmt::format(" (only {}, which is not read)", listing.foreign));
  }
  Container container;
  container.directory_ = directory;
  std::vector<OpenedFile> files = OpenAll(listing.weights);
  size_t tensors = 0;
  for (const OpenedFile& file : files) {
    tensors += file ? (*file)->header().entries().size() : 0;
  }
  container.tensors_.reserve(2 * tensors);  // short chains: memory is what a look-up waits for
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i]) {
      return tl::unexpected<Error>(std::move(files[i]).error());
    }
    container.files_.push_back(*std::move(files[i]));
    COLI_RETURN_IF_ERROR(container.AddFile(listing.weights[i]));
  }
  COLI_RETURN_IF_ERROR(container.CheckIndex());
  return container;
}

// Takes in the tensors and stamps of the last one of files_.
Status Container::AddFile(const fs::path& path) {
  const SafetensorsFile& file = *files_.back();
  for (const auto& entry : file.header().entries()) {
    const auto [place, is_new] = tensors_.emplace(entry.name, file.Tensor(entry));
    if (!is_new) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {}: expected in one file, found in {} too",
                  path.string(), entry.name, place->second.file->path());
    }
  }
  return AddStamps(file);
}

Status Container::AddStamps(const SafetensorsFile& file) {
  const auto text = file.header().metadata().find(kStampsKey);
  if (text == file.header().metadata().end()) {
    return Ok();
  }
  const std::string place = fmt::format("{}: {}", file.file().path(), kStampsKey);
  COLI_ASSIGN_OR_RETURN(const Json stamps, ParseJson(text->second, place, {.max_depth = 2}));
  if (!stamps.is_object()) {
    return Fail(ErrorCode::kCorrupt, "{}: expected an object from tensor names to format names",
                place);
  }
  for (const auto& [tensor, value] : stamps.items()) {
    const std::string format = value.is_string() ? value.get<std::string>() : "";
    if (!IsKnownFormatName(format)) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: tensor {}: expected the name of a known format, found {}", place, tensor,
                  value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 80));
    }
    const auto [stamp, is_new] = stamps_.emplace(tensor, format);
    if (!is_new && stamp->second != format) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {}: expected {} as another file says, found {}",
                  place, tensor, stamp->second, format);
    }
  }
  if (stamps_.size() > kMaxStamps) {
    return Fail(ErrorCode::kCorrupt, "{}: expected at most {} stamps in all files, found {}", place,
                kMaxStamps, stamps_.size());
  }
  return Ok();
}

// An index is not needed, but where there is one it tells whether files are missing or mixed up.
Status Container::CheckIndex() const {
  const fs::path path = directory_ / kIndexName;
  auto text = ReadTextFile(path, kMaxIndexBytes);
  if (!text) {
    return text.error().code == ErrorCode::kNotFound
               ? Ok()
               : tl::unexpected<Error>(std::move(text).error());
  }
  COLI_ASSIGN_OR_RETURN(const Json index,
                        ParseJson(*text, path.string(),
                                  {.max_bytes = kMaxIndexBytes, .max_values = kMaxIndexValues}));
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return Fail(ErrorCode::kCorrupt, "{}: expected an object with a weight_map", path.string());
  }
  std::unordered_map<std::string, const File*> files;  // by name
  for (const auto& open : files_) {
    files.emplace(fs::path(open->file().path()).filename().string(), &open->file());
  }
  for (const auto& [name, value] : index["weight_map"].items()) {
    const std::string file = value.is_string() ? value.get<std::string>() : "";
    const auto listed = files.find(file);
    const auto found = tensors_.find(name);
    if (listed == files.end()) {
      return Fail(ErrorCode::kNotFound,
                  "{}: tensor {}: expected the file {} in the directory, found none", path.string(),
                  name, file.empty() ? "(no name)" : file);
    }
    if (found == tensors_.end() || found->second.file != listed->second) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {}: expected in {}, found in {}", path.string(),
                  name, file, found == tensors_.end() ? "no file" : found->second.file->path());
    }
  }
  return Ok();
}

bool Container::Has(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }

Result<const StoredTensor*> Container::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return Fail(ErrorCode::kNotFound, "{}: tensor {}: expected in one of {} files, found in none",
                directory_.string(), name, files_.size());
  }
  return &found->second;
}

Result<StoredMatrix> Container::FindMatrix(std::string_view name, uint32_t rows,
                                           uint32_t cols) const {
  COLI_ASSIGN_OR_RETURN(const StoredTensor* tensor, Find(name));
  if (FloatFormat(tensor->dtype)) {
    return FindFloats(name, *tensor, rows, cols);
  }
  if (IsCodes(tensor->dtype)) {
    return FindQuantized(name, *tensor, rows, cols);
  }
  if (tensor->dtype == DType::kF8E4m3) {
    return FindFp8(name, *tensor, rows, cols);
  }
  return UnsupportedDType(*tensor, name);
}

Result<StoredMatrix> Container::FindFloats(std::string_view name, const StoredTensor& tensor,
                                           uint32_t rows, uint32_t cols) const {
  COLI_RETURN_IF_ERROR(RequireShape(tensor, name, rows, cols));
  using SuffixAndCodes = std::pair<std::string_view, std::string_view>;
  for (const auto& [suffix, codes] :
       {SuffixAndCodes{kScalesSuffix, "U8"}, SuffixAndCodes{kFp8ScalesSuffix, "F8_E4M3"}}) {
    if (Has(fmt::format("{}{}", name, suffix))) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: expected {} codes because there is a tensor {}{}, found {}",
                  Place(tensor, name), codes, name, suffix, Describe(tensor));
    }
  }
  return StoredMatrix{
      std::string(name), {*FloatFormat(tensor.dtype)}, rows, cols, ExtentOf(tensor), {}};
}

Result<StoredMatrix> Container::FindFp8(std::string_view name, const StoredTensor& tensor,
                                        uint32_t rows, uint32_t cols) const {
  COLI_RETURN_IF_ERROR(RequireShape(tensor, name, rows, cols));
  const auto scales = tensors_.find(fmt::format("{}{}", name, kFp8ScalesSuffix));
  if (scales == tensors_.end()) {
    return Fail(ErrorCode::kCorrupt, "{}: expected its scales in a tensor {}{}, found none",
                Place(tensor, name), name, kFp8ScalesSuffix);
  }
  if (scales->second.dtype != DType::kF32) {
    return Fail(ErrorCode::kUnsupported, "{}: expected F32 scales, found {}",
                Place(scales->second, scales->first), Describe(scales->second));
  }
  constexpr Format kFormat{FormatId::kFp8E4m3B128};
  COLI_RETURN_IF_ERROR(RequireShape(scales->second, scales->first,
                                    CeilDiv(rows, Info(kFormat).scale_rows),
                                    RowScales(kFormat, cols)));
  return StoredMatrix{std::string(name),       kFormat, rows, cols, ExtentOf(tensor),
                      ExtentOf(scales->second)};
}

Result<std::vector<StoredMatrix>> Container::FindStack(std::string_view name,
                                                       StackShape shape) const {
  COLI_ASSIGN_OR_RETURN(const StoredTensor* tensor, Find(name));
  const std::optional<FormatId> format = FloatFormat(tensor->dtype);
  if (!format) {
    return Fail(ErrorCode::kUnsupported,
                "{}: expected F32, BF16 or F16 in a tensor of several matrices, found {}",
                Place(*tensor, name), Describe(*tensor));
  }
  if (tensor->shape != std::vector<uint64_t>{shape.count, shape.rows, shape.cols}) {
    return Fail(ErrorCode::kCorrupt, "{}: expected shape [{}, {}, {}], found {}",
                Place(*tensor, name), shape.count, shape.rows, shape.cols, Describe(*tensor));
  }
  const uint64_t bytes = tensor->bytes / shape.count;
  std::vector<StoredMatrix> matrices;
  for (uint32_t i = 0; i < shape.count; ++i) {
    matrices.push_back({fmt::format("{}[{}]", name, i),
                        {*format},
                        shape.rows,
                        shape.cols,
                        {tensor->file, tensor->offset + i * bytes, bytes},
                        {},
                        0,
                        {}});
  }
  return matrices;
}

Result<StoredMatrix> Container::FindQuantized(std::string_view name, const StoredTensor& tensor,
                                              uint32_t rows, uint32_t cols) const {
  const auto scales = tensors_.find(fmt::format("{}{}", name, kScalesSuffix));
  if (scales == tensors_.end()) {
    return Fail(ErrorCode::kCorrupt, "{}: expected its scales in a tensor {}{}, found none",
                Place(tensor, name), name, kScalesSuffix);
  }
  std::optional<std::string_view> stamp;
  if (const auto found = IsRoutedExpert(name) ? stamps_.end() : stamps_.find(name);
      found != stamps_.end()) {
    stamp = found->second;
  }
  const auto format = RecognizeFormat({rows, cols, tensor.bytes, scales->second.bytes}, stamp);
  if (!format) {
    return Wrap(format.error(), Place(tensor, name));
  }
  if (scales->second.dtype != DType::kF32) {
    return Fail(ErrorCode::kCorrupt, "{}: expected F32 scales, found {}",
                Place(scales->second, scales->first), Describe(scales->second));
  }
  return StoredMatrix{std::string(name),       *format, rows, cols, ExtentOf(tensor),
                      ExtentOf(scales->second)};
}

Result<StoredVector> Container::FindVector(std::string_view name, uint32_t count) const {
  COLI_ASSIGN_OR_RETURN(const StoredTensor* tensor, Find(name));
  const std::optional<FormatId> format = FloatFormat(tensor->dtype);
  if (!format) {
    return UnsupportedDType(*tensor, name);
  }
  if (tensor->shape != std::vector<uint64_t>{count}) {
    return Fail(ErrorCode::kCorrupt, "{}: expected shape [{}], found {}", Place(*tensor, name),
                count, Describe(*tensor));
  }
  return StoredVector{*format, ExtentOf(*tensor)};
}

Result<std::vector<float>> Container::ReadVector(std::string_view name, uint32_t count) const {
  COLI_ASSIGN_OR_RETURN(const StoredVector stored, FindVector(name, count));
  std::vector<std::byte> bytes(stored.extent.bytes);
  COLI_RETURN_IF_ERROR(stored.extent.file->ReadExact(stored.extent.offset, bytes));
  if (const auto index = FirstNonFinite(stored.format, bytes)) {
    return Fail(ErrorCode::kCorrupt,
                "{}: tensor {}: expected finite numbers, found one that is not at index {}",
                stored.extent.file->path(), name, *index);
  }
  std::vector<float> values(count);
  Info(stored.format).decode_row(bytes.data(), nullptr, count, 0, values.data());
  return values;
}

uint64_t Container::PackedBytes(const StoredMatrix& matrix) {
  return AlignUp(matrix.codes.bytes, kMatrixAlignment) + matrix.scales.bytes;
}

Result<WeightView> Container::Read(const StoredMatrix& matrix,
                                   std::span<std::byte> destination) const {
  COLI_CHECK(destination.size() >= PackedBytes(matrix));
  const std::span<std::byte> codes = destination.first(matrix.codes.bytes);
  if (auto status = matrix.codes.file->ReadExact(matrix.codes.offset, codes); !status) {
    return Wrap(status.error(), fmt::format("tensor {}", matrix.name));
  }
  WeightView view{codes.data(), nullptr, matrix.rows, matrix.cols, matrix.format};
  if (matrix.scales.bytes != 0) {
    const std::span<std::byte> scales =
        destination.subspan(AlignUp(matrix.codes.bytes, kMatrixAlignment), matrix.scales.bytes);
    if (auto status = matrix.scales.file->ReadExact(matrix.scales.offset, scales); !status) {
      return Wrap(status.error(), fmt::format("the scales of tensor {}", matrix.name));
    }
    view.scales = scales.data();
    COLI_RETURN_IF_ERROR(CheckScales(view, [&] { return Place(matrix); }));
  }
  if (Info(view.format).arithmetic == Arithmetic::kFloat) {
    COLI_RETURN_IF_ERROR(CheckFloats(view, [&] { return Place(matrix); }));
  }
  return view;
}

uint64_t Container::total_bytes() const {
  uint64_t total = 0;
  for (const auto& file : files_) {
    total += file->file().size();
  }
  return total;
}

}  // namespace coli
