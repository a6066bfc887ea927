// Kernels for x86-64 CPUs with AVX2, FMA, F16C and BMI2. To be called only where those are
// supported.
#pragma once

#include "kernels/kernel_functions.h"

namespace coli {

const IsaKernels& Avx2Kernels();

}  // namespace coli
