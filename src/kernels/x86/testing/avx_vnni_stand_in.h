// For tests: the kernels for AVX-VNNI with its instruction computed lane by lane, for CPUs that
// lack it. They run where AVX2 does.
#pragma once

#include "kernels/kernel_functions.h"

namespace coli::testing {

const IsaKernels& AvxVnniStandIn();

}  // namespace coli::testing
