// Weight matrices with codes that mean nothing, in GLM-5.2's expert shapes, and rows to multiply
// them with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernels/kernel_table.h"
#include "sys/aligned_buffer.h"
#include "tensor/format.h"
#include "tensor/tensor_view.h"

namespace coli {

struct MatrixShape {
  uint32_t rows;
  uint32_t cols;
};
inline constexpr MatrixShape kExpertShapes[] = {{2048, 6144}, {6144, 2048}};

struct NamedFormat {
  std::string_view name;
  Format format;
};
// The formats that are measured: all there are, grouped ones with the usual group.
inline constexpr NamedFormat kMeasuredFormats[] = {
    {"int4-row", {FormatId::kInt4Row}},
    {"int4-grouped-64", {FormatId::kInt4Grouped, 64}},
    {"int8-row", {FormatId::kInt8Row}},
    {"int2-row", {FormatId::kInt2Row}},
    {"int3-g64", {FormatId::kInt3G64}},
    {"mxfp4", {FormatId::kMxfp4}},
    {"fp8-e4m3-b128", {FormatId::kFp8E4m3B128}},
    {"bf16", {FormatId::kBf16}},
    {"f16", {FormatId::kF16}},
    {"f32", {FormatId::kF32}}};

// Fills memory with random codes: integers, and floats of moderate size in the formats whose codes
// are floats, none of them subnormal.
void FillWithCodes(std::span<std::byte> memory);

// Writes scales of moderate size for one matrix.
void FillScales(Format format, MatrixShape shape, std::byte* scales);

// Matrices one after the other in memory that FillWithCodes has filled, each its codes and then its
// scales, in random order. The memory must outlive the set.
class WeightSet {
 public:
  // As many matrices as fit, at most `max_bytes` of them; one must fit.
  WeightSet(std::span<std::byte> memory, Format format, MatrixShape shape, size_t max_bytes);

  // Bytes that one matrix occupies.
  static size_t Stride(Format format, MatrixShape shape);

  size_t count() const { return order_.size(); }
  size_t matrix_bytes() const { return matrix_bytes_; }
  MatrixShape shape() const { return shape_; }
  // Of the matrix that comes i-th; after the last comes the first again.
  const std::byte* bytes(size_t i) const {
    return memory_.data() + order_[i % order_.size()] * stride_;
  }
  WeightView view(size_t i) const {
    return {bytes(i), bytes(i) + code_bytes_, shape_.rows, shape_.cols, format_};
  }

 private:
  std::span<std::byte> memory_;
  Format format_;
  MatrixShape shape_;
  size_t code_bytes_;
  size_t matrix_bytes_;
  size_t stride_;
  std::vector<size_t> order_;
};

// Rows of normally distributed values, prepared for weights of one geometry.
class PreparedInput {
 public:
  static Result<PreparedInput> Create(const MatrixKernels& kernels, Format format, uint32_t cols,
                                      uint32_t tokens);
  // The first `tokens` of them.
  PreparedRows rows(uint32_t tokens) const { return {bytes_.data(), row_bytes_, tokens}; }

 private:
  PreparedInput(AlignedBuffer bytes, size_t row_bytes)
      : bytes_(std::move(bytes)), row_bytes_(row_bytes) {}
  AlignedBuffer bytes_;
  size_t row_bytes_;
};

}  // namespace coli
