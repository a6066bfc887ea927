#include "kernels/x86/avx_vnni.h"

#include "kernels/x86/avx2_planes.h"

namespace coli {
namespace {

struct AvxVnniInstruction {
  static __m256i MultiplyAdd(__m256i sum, __m256i a, __m256i b) {
    return _mm256_dpwssd_avx_epi32(sum, a, b);
  }
};

constexpr IsaKernels kKernels = Avx2KernelsWith<ChunkProducts<AvxVnniInstruction>>();

}  // namespace

const IsaKernels& AvxVnniKernels() { return kKernels; }

}  // namespace coli
