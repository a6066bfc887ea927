#include "kernels/x86/testing/avx_vnni_stand_in.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

namespace coli {
namespace {

// vpdpwssd, as its manual defines it: 32-bit sums that wrap.
inline __m256i MultiplyAddLaneByLane(__m256i sum, __m256i a, __m256i b) {
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

}  // namespace
}  // namespace coli

#define COLI_MULTIPLY_ADD MultiplyAddLaneByLane
#include "kernels/x86/avx2_table.h"

namespace coli::testing {

const IsaKernels& AvxVnniStandIn() { return kKernels; }

}  // namespace coli::testing
