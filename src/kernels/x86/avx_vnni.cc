#include "kernels/x86/avx_vnni.h"

#define COLI_MULTIPLY_ADD _mm256_dpwssd_avx_epi32
#include "kernels/x86/avx2_table.h"

namespace coli {

const IsaKernels& AvxVnniKernels() { return kKernels; }

}  // namespace coli
