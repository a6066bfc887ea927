// One .safetensors file: a JSON header that says where each tensor lies, then the bytes.
//
// The parser is total: any bytes give a header or an error, and a header that was accepted
// describes the file exactly: the tensors cover the data from its first byte to the last one,
// without holes, overlaps or contradictions.
//
// Source of the format: https://huggingface.co/docs/safetensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sys/file.h"

namespace coli {

// Number types that occur in files. Only some of them can be computed with; the others are refused
// where they are used.
enum class DType : uint8_t {
  kF32,
  kBf16,
  kF16,
  kU8,
  kI8,
  kF8E4m3,
  kF8E5m2,
  kF8E8m0,
  kF6E2m3,
  kF6E3m2,
  kF4,
  kBool,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF64,
  kC64,
};
// As in files: "BF16".
std::string_view Name(DType dtype);
uint32_t BitsPerElement(DType dtype);

// "[2048, 6144]", for messages.
std::string ShapeText(std::span<const uint64_t> shape);

// Where a tensor lies in an open file.
struct StoredTensor {
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  const File* file = nullptr;
  uint64_t offset = 0;  // from the start of the file
  uint64_t bytes = 0;
};

// A verified header. Limits: 128 MiB of header, 8 dimensions, names of 1 to 512 printable ASCII
// bytes.
class SafetensorsHeader {
 public:
  // The header's length, little-endian, stands before the header.
  static constexpr uint64_t kLengthBytes = 8;
  static constexpr uint64_t kMaxHeaderBytes = uint64_t{128} << 20;
  static constexpr size_t kMaxRank = 8;
  static constexpr size_t kMaxNameBytes = 512;

  struct Entry {
    std::string name;
    DType dtype;
    std::vector<uint64_t> shape;
    uint64_t begin;  // from the end of the header
    uint64_t end;
  };

  // The header's length from the first bytes of a file of `file_size` bytes. `source` names the
  // file in errors.
  static Result<uint64_t> Length(std::span<const std::byte> prefix, uint64_t file_size,
                                 std::string_view source);
  // `header`: the bytes after the length. Errors are kCorrupt: "<source>: tensor <name>: expected
  // ..., found ...".
  static Result<SafetensorsHeader> Parse(std::span<const std::byte> header, uint64_t file_size,
                                         std::string_view source);

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of their bytes
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

// An open file with its header. Neither copied nor moved: tensors point to file().
class SafetensorsFile {
 public:
  static Result<std::unique_ptr<SafetensorsFile>> Open(const std::filesystem::path& path);

  const File& file() const { return file_; }
  const SafetensorsHeader& header() const { return header_; }
  StoredTensor Tensor(const SafetensorsHeader::Entry& entry) const;

 private:
  SafetensorsFile(File file, SafetensorsHeader header, uint64_t data_begin);
  File file_;
  SafetensorsHeader header_;
  uint64_t data_begin_;
};

}  // namespace coli
