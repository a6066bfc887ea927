// Views of matrices and activations: pointer, shape, stride, format. A view never owns; whoever
// made it keeps the bytes alive.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/format_id.h"

namespace coli {

// A weight matrix [rows, cols], row-major, applied as y = W x. Codes and scales lie apart.
struct WeightView {
  const std::byte* codes = nullptr;
  const std::byte* scales = nullptr;  // aligned for their kind; nullptr for plain floats
  uint32_t rows = 0;
  uint32_t cols = 0;
  Format format{FormatId::kF32};
  // Rows of the first scale block that lie above row 0; 0 unless rows share their scales.
  uint32_t rows_above = 0;

  bool empty() const { return rows == 0; }
  // Rows [begin, begin + count) of this matrix.
  WeightView Rows(uint32_t begin, uint32_t count) const;
  // The codes of a row, and the scales of a row.
  const std::byte* RowCodes(uint32_t row) const;
  const std::byte* RowScales(uint32_t row) const;
};

// Row `row` of `w` as f32. out: [w.cols].
void DecodeRow(const WeightView& w, uint32_t row, float* out);

// Activations: `rows` vectors of `cols` f32, `stride` floats from one row to the next.
template <class T>
struct BasicMatrixView {
  T* data = nullptr;
  uint32_t rows = 0;
  uint32_t cols = 0;
  size_t stride = 0;

  T* row(size_t r) const { return data + r * stride; }
  BasicMatrixView Rows(uint32_t begin, uint32_t count) const {
    return {data + begin * stride, count, cols, stride};
  }
  BasicMatrixView Cols(uint32_t begin, uint32_t count) const {
    return {data + begin, rows, count, stride};
  }
  operator BasicMatrixView<const T>() const { return {data, rows, cols, stride}; }
};
using MatrixView = BasicMatrixView<float>;
using ConstMatrixView = BasicMatrixView<const float>;

// The three matrices of one SwiGLU network: down(silu(gate x) * up x).
struct FfnView {
  WeightView gate;  // [inner, hidden]
  WeightView up;    // [inner, hidden]
  WeightView down;  // [hidden, inner]
};

}  // namespace coli
