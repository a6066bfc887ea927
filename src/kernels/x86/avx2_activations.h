// Activations of integer arithmetic: one scale per segment of columns, codes in int16. Part of
// avx2.cc.
#pragma once

#include "kernels/planes_layout.h"
#include "kernels/x86/avx2_common.h"

namespace coli {
namespace {

// max |x|, found on the bit patterns: NaN and infinity compare above all finite values.
inline uint32_t AbsmaxBits(const float* x, uint32_t count) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256i highest = _mm256_setzero_si256();
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    highest = _mm256_max_epu32(highest, _mm256_and_si256(Load(x + i), magnitude));
  }
  alignas(32) uint32_t lane[8];
  Store(lane, highest);
  uint32_t result = 0;
  for (int l = 0; l < 8; ++l) {
    result = lane[l] > result ? lane[l] : result;
  }
  for (; i < count; ++i) {
    uint32_t bits = 0;
    memcpy(&bits, x + i, sizeof(bits));
    bits &= 0x7fffffffU;
    result = bits > result ? bits : result;
  }
  return result;
}

// round-half-even(x / scale), limited to the range of the codes.
inline __m256i QuantizeEight(const float* x, __m256 scale) {
  const __m256 quotient = _mm256_div_ps(_mm256_loadu_ps(x), scale);
  const __m256 limited =
      _mm256_max_ps(_mm256_min_ps(quotient, _mm256_set1_ps(32767.0F)), _mm256_set1_ps(-32767.0F));
  return _mm256_cvtps_epi32(limited);
}

inline void QuantizeSixteen(const float* x, __m256 scale, int16_t* out) {
  const __m256i packed = _mm256_packs_epi32(QuantizeEight(x, scale), QuantizeEight(x + 8, scale));
  Store(out, _mm256_permute4x64_epi64(packed, 0xd8));
}

inline void QuantizeSegment(const float* x, uint32_t count, SegmentCodes& segment) {
  QuantizeColumns<16>(x, count, AbsmaxBits(x, count), segment,
                      [](const float* columns, float scale, int16_t* codes) {
                        QuantizeSixteen(columns, _mm256_set1_ps(scale), codes);
                      });
}

}  // namespace
}  // namespace coli
