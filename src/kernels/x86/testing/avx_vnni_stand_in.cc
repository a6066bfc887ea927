#include "kernels/x86/testing/avx_vnni_stand_in.h"

#include "kernels/x86/avx2_planes.h"

namespace coli {
namespace {

struct LaneByLane {
  // vpdpwssd, as its manual defines it: 32-bit sums that wrap.
  static __m256i MultiplyAdd(__m256i sum, __m256i a, __m256i b) {
    uint32_t sums[8];
    int16_t left[16];
    int16_t right[16];
    memcpy(sums, &sum, sizeof(sums));
    memcpy(left, &a, sizeof(left));
    memcpy(right, &b, sizeof(right));
    for (int l = 0; l < 8; ++l) {
      sums[l] += static_cast<uint32_t>(left[2 * l] * right[2 * l]);
      sums[l] += static_cast<uint32_t>(left[2 * l + 1] * right[2 * l + 1]);
    }
    memcpy(&sum, sums, sizeof(sums));
    return sum;
  }
};

constexpr IsaKernels kKernels = Avx2KernelsWith<ChunkProducts<LaneByLane>>();

}  // namespace

namespace testing {

const IsaKernels& AvxVnniStandIn() { return kKernels; }

}  // namespace testing
}  // namespace coli
