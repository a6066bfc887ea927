#include "kernels/x86/avx2.h"

#include "kernels/x86/avx2_table.h"

namespace coli {

const IsaKernels& Avx2Kernels() { return kKernels; }

}  // namespace coli
