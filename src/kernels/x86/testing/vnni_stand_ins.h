// For tests: the kernels for AVX-VNNI and for AVX-512 with VNNI, their instructions computed lane
// by lane or on halves of a register, for CPUs that lack them. They run where AVX2 does.
#pragma once

#include "kernels/kernel_functions.h"

namespace coli::testing {

const IsaKernels& AvxVnniStandIn();
const IsaKernels& Avx512VnniStandIn();

}  // namespace coli::testing
