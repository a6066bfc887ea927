// The quantiser: rows of f32 to codes and scales, in every number format. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "tensor/tensor_view.h"

namespace coli {

// Where a whole matrix [rows, cols] goes: CodeBytes and ScaleBytes of tensor/format.h.
struct QuantizedMatrix {
  std::byte* codes = nullptr;
  std::byte* scales = nullptr;  // nullptr for plain floats
  uint32_t rows = 0;
  uint32_t cols = 0;
  Format format{FormatId::kF32};

  WeightView view() const { return {codes, scales, rows, cols, format}; }
};

// Writes rows [first_row, first_row + values.rows) of `out`, with values.cols == out.cols. The
// range begins at a multiple of FormatInfo::scale_rows, and ends at one or with the matrix. Every
// byte of these rows is a function of their values alone, so that ranges may be written in any
// order and by any threads.
//
// Error: kNumeric for a value that is not finite or that the format cannot hold (a large one in
// f16), naming row and column in the matrix; what has been written then means nothing.
Status QuantizeRows(ConstMatrixView values, uint32_t first_row, const QuantizedMatrix& out);

}  // namespace coli
