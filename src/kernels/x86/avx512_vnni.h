// The kernels for AVX-512 with VNNI: those for AVX2 but for the products of integer weights.
#pragma once

#include "kernels/kernel_functions.h"

namespace coli {

const IsaKernels& Avx512VnniKernels();

}  // namespace coli
