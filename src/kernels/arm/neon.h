// The kernels for NEON, which every aarch64 CPU has.
#pragma once

#include "kernels/kernel_functions.h"

namespace coli {

const IsaKernels& NeonKernels();

}  // namespace coli
