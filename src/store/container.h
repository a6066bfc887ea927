// A model directory as a verified map from tensor name to bytes.
//
// Opens every *.safetensors file of a directory except `reference.safetensors` (shards, colibri's
// out-*, out-mtp-*, out-idx-* files, with or without an index file; names that begin with a dot are
// not looked at). After Open has succeeded no extent lies outside its file. Thread-compatible;
// reads are thread-safe. The files stay open, so replacing a file does not change a running
// program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/safetensors.h"
#include "sys/aligned_buffer.h"
#include "sys/file.h"
#include "tensor/format.h"
#include "tensor/tensor_view.h"

namespace coli {

// A byte range of one of the container's files.
struct Extent {
  const File* file = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Where a matrix lies, what its bytes mean and how it is to be held in memory. `scales` is empty
// (bytes 0) for plain floats.
struct StoredMatrix {
  std::string name;
  Format format{FormatId::kF32};
  uint32_t rows = 0;
  uint32_t cols = 0;
  Extent codes;
  Extent scales;
  // Plain floats only. Not 0: the file holds the transpose, element (r, c) lies
  // column_stride * c + r elements from the start.
  uint32_t column_stride = 0;
  std::optional<Format> convert_to = {};  // when it is read (store/conversion.h)

  uint64_t bytes() const { return codes.bytes + scales.bytes; }
  bool converts() const { return convert_to.has_value() || column_stride != 0; }
  Format held() const { return convert_to.value_or(format); }

  // Of plain floats: rows [begin, begin + count).
  StoredMatrix Rows(uint32_t begin, uint32_t count) const;
  // Of plain floats that are not transposed yet.
  StoredMatrix Transposed() const;
};

// In memory, matrices and their scales begin at multiples of this many bytes: a cache line.
constexpr uint64_t kMatrixAlignment = 64;

// "<file>: tensor <name>", for errors.
std::string Place(const StoredMatrix& matrix);

// The shape of equally large matrices in one tensor: [count, rows, cols].
struct StackShape {
  uint32_t count = 0;
  uint32_t rows = 0;
  uint32_t cols = 0;
};

// Where a vector of floats lies.
struct StoredVector {
  FormatId format = FormatId::kF32;
  Extent extent;
};

class Container {
 public:
  // Errors: kNotFound (no directory, no weights, a file that the index lists), kCorrupt and others
  // naming the file.
  static Result<Container> Open(const std::filesystem::path& directory);

  bool Has(std::string_view name) const;
  // The matrix `name` of [rows, cols] as the config says. Floats have exactly this shape, and so
  // has FP8, whose scales are `<name>_scale_inv` (F32, one per block of 128 x 128). For quantised
  // matrices (U8 or I8 with `<name>.qs`) the stored shape means nothing and the format is
  // recognised by byte counts and, where there is one, the `colibri.fmt` stamp
  // (store/recognition.h). Errors: kNotFound; kUnsupported naming a format or dtype that is not
  // implemented; kCorrupt naming file, tensor, expected and found.
  Result<StoredMatrix> FindMatrix(std::string_view name, uint32_t rows, uint32_t cols) const;
  // All matrices of the tensor `name`, plain floats of exactly this shape. Errors as FindMatrix.
  Result<std::vector<StoredMatrix>> FindStack(std::string_view name, StackShape shape) const;
  // The vector `name` of `count` floats, not read. Errors as FindMatrix.
  Result<StoredVector> FindVector(std::string_view name, uint32_t count) const;
  // A vector of `count` floats (F32, BF16 or F16 in the file), widened to f32. Refuses what is not
  // finite.
  Result<std::vector<float>> ReadVector(std::string_view name, uint32_t count) const;
  // Reads codes and scales to `destination` (codes first, scales at the next multiple of
  // kMatrixAlignment) and gives the view of it. `destination` is 4-byte aligned and holds at least
  // PackedBytes(matrix). Errors name the tensor; scales must be finite and not negative, plain
  // floats finite.
  Result<WeightView> Read(const StoredMatrix& matrix, std::span<std::byte> destination) const;
  static uint64_t PackedBytes(const StoredMatrix& matrix);

  // By name, in no particular order; the files have them in the order of their bytes.
  const std::unordered_map<std::string_view, StoredTensor>& tensors() const { return tensors_; }
  const std::vector<std::unique_ptr<SafetensorsFile>>& files() const { return files_; }
  uint64_t total_bytes() const;  // of all files
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::unordered_map<std::string_view, StoredTensor> tensors_;  // names are those of the headers
  std::map<std::string, std::string, std::less<>> stamps_;      // tensor name -> format name

  Status AddFile(const std::filesystem::path& path);
  Status AddStamps(const SafetensorsFile& file);
  Status CheckIndex() const;
  Result<const StoredTensor*> Find(std::string_view name) const;
  Result<StoredMatrix> FindFloats(std::string_view name, const StoredTensor& tensor, uint32_t rows,
                                  uint32_t cols) const;
  Result<StoredMatrix> FindQuantized(std::string_view name, const StoredTensor& tensor,
                                     uint32_t rows, uint32_t cols) const;
  Result<StoredMatrix> FindFp8(std::string_view name, const StoredTensor& tensor, uint32_t rows,
                               uint32_t cols) const;
};

}  // namespace coli
