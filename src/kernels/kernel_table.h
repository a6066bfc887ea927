// The kernels that run on one instruction set, complete: what it does not implement comes from what
// it builds on, in the end from the reference.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/kernel_functions.h"
#include "tensor/tensor_view.h"

namespace coli {

enum class Isa : uint8_t {
#define COLI_ISA(id, name, ...) id,
#include "kernels/isas.def"
#undef COLI_ISA
};

struct KernelTable {
  Isa isa;
  std::string_view name;                           // "scalar", "avx2"
  std::array<MatrixKernels, kFormatCount> matrix;  // by FormatId
  VectorKernels vector;

  const MatrixKernels& For(Format format) const { return matrix[static_cast<size_t>(format.id)]; }
};

}  // namespace coli
