// The kernels for AVX-VNNI: those for AVX2 with its one instruction for a product and a sum.
#pragma once

#include "kernels/kernel_functions.h"

namespace coli {

const IsaKernels& AvxVnniKernels();

}  // namespace coli
