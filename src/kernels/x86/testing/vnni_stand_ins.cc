#include "kernels/x86/testing/vnni_stand_ins.h"

#include "kernels/x86/avx512_products.h"

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

// As Avx512Vnni of avx512_vnni.cc.
struct TwoHalves {
  struct Register {
    __m256i lower;
    __m256i upper;
  };

  static Register Load(const std::byte* p) { return {coli::Load(p), coli::Load(p + 32)}; }
  static Register Halves(__m256i lower, __m256i upper) { return {lower, upper}; }
  static Register Twice(__m256i half) { return {half, half}; }
  static Register ZeroExtend(__m256i lower) { return {lower, _mm256_setzero_si256()}; }
  static Register FromBytes(__m256i bytes) {
    return {_mm256_cvtepi8_epi16(_mm256_castsi256_si128(bytes)),
            _mm256_cvtepi8_epi16(_mm256_extracti128_si256(bytes, 1))};
  }
  static __m256i Lower(Register r) { return r.lower; }
  static __m256i Upper(Register r) { return r.upper; }
  static Register And(Register a, Register b) {
    return {_mm256_and_si256(a.lower, b.lower), _mm256_and_si256(a.upper, b.upper)};
  }
  static Register ShiftRight(Register r, uint32_t bits) {
    const __m128i count = _mm_cvtsi32_si128(static_cast<int>(bits));
    return {_mm256_srl_epi32(r.lower, count), _mm256_srl_epi32(r.upper, count)};
  }
  static Register MultiplyAdd(Register sum, Register a, Register b) {
    return {LaneByLane::MultiplyAdd(sum.lower, a.lower, b.lower),
            LaneByLane::MultiplyAdd(sum.upper, a.upper, b.upper)};
  }
  static void Pin(Register& /*r*/) {}
};

constexpr IsaKernels kAvxVnni = Avx2KernelsWith<ChunkProducts<LaneByLane>>();
constexpr IsaKernels kAvx512Vnni = Avx2KernelsWith<WideProducts<TwoHalves>>();

}  // namespace

namespace testing {

const IsaKernels& AvxVnniStandIn() { return kAvxVnni; }
const IsaKernels& Avx512VnniStandIn() { return kAvx512Vnni; }

}  // namespace testing
}  // namespace coli
