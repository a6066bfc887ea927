// For tests: a stored matrix as the numbers it means.
#pragma once

#include <vector>

#include "store/container.h"
#include "sys/aligned_buffer.h"
#include "tensor/format.h"

namespace coli::testing {

// The matrix `name` of [rows, cols], row-major in f32. Errors as FindMatrix and Read.
inline Result<std::vector<float>> ReadFloats(const Container& container, std::string_view name,
                                             uint32_t rows, uint32_t cols) {
  COLI_ASSIGN_OR_RETURN(const StoredMatrix matrix, container.FindMatrix(name, rows, cols));
  COLI_ASSIGN_OR_RETURN(const AlignedBuffer buffer,
                        AlignedBuffer::Allocate(Container::PackedBytes(matrix)));
  COLI_ASSIGN_OR_RETURN(const WeightView view, container.Read(matrix, buffer.bytes()));
  std::vector<float> values(uint64_t{rows} * cols);
  for (uint32_t row = 0; row < rows; ++row) {
    DecodeRow(view, row, values.data() + uint64_t{row} * cols);
  }
  return values;
}

}  // namespace coli::testing
