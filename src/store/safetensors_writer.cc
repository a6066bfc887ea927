#include "store/safetensors_writer.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/json.h"

namespace coli {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kDataAlignment = 64;

std::string HeaderText(const std::vector<TensorEntry>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  OrderedJson header = OrderedJson::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  uint64_t begin = 0;
  for (const TensorEntry& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, begin + tensor.bytes}}};
    begin += tensor.bytes;
  }
  std::string text = header.dump();
  text.resize(AlignUp(kLengthBytes + text.size(), kDataAlignment) - kLengthBytes, ' ');
  return text;
}

}  // namespace

Result<SafetensorsWriter> SafetensorsWriter::Create(
    const std::filesystem::path& path, const std::vector<TensorEntry>& tensors,
    const std::map<std::string, std::string>& metadata) {
  const std::string header = HeaderText(tensors, metadata);
  std::array<std::byte, kLengthBytes> length{};
  for (size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xFF);
  }
  COLI_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  COLI_RETURN_IF_ERROR(file.Append(length));
  COLI_RETURN_IF_ERROR(file.Append(header));
  uint64_t end = file.bytes();
  for (const TensorEntry& tensor : tensors) {
    end += tensor.bytes;
  }
  return SafetensorsWriter(std::move(file), end);
}

Status SafetensorsWriter::Append(std::span<const std::byte> bytes) {
  COLI_CHECK(bytes.size() <= end_ - file_.bytes());
  return file_.Append(bytes);
}

Status SafetensorsWriter::Skip(uint64_t bytes) {
  COLI_CHECK(bytes <= end_ - file_.bytes());
  return file_.Skip(bytes);
}

Status SafetensorsWriter::Finish() {
  COLI_CHECK(file_.bytes() == end_);
  return file_.Finish();
}

}  // namespace coli
