// Activations of integer arithmetic: one scale per segment of columns, codes in int16. Part of
// avx2.cc.
#pragma once

#include "kernels/x86/avx2_common.h"

namespace coli {
namespace {

constexpr uint32_t kMaxSegment = 256;

struct SegmentCodes {
  float scale;
  alignas(32) int16_t codes[kMaxSegment];  // zero after the last column
};

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
  const uint32_t bits = AbsmaxBits(x, count);
  float absmax = 0;
  memcpy(&absmax, &bits, sizeof(absmax));
  const bool finite = bits < 0x7f800000U;
  segment.scale = finite ? absmax / 32767.0F : __builtin_nanf("");
  memset(segment.codes, 0, sizeof(segment.codes));
  if (!finite || segment.scale == 0.0F) {
    return;
  }
  const __m256 scale = _mm256_set1_ps(segment.scale);
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) {
    QuantizeSixteen(x + i, scale, segment.codes + i);
  }
  if (i < count) {
    float tail[16] = {};
    memcpy(tail, x + i, (count - i) * sizeof(float));
    QuantizeSixteen(tail, scale, segment.codes + i);
  }
}

}  // namespace
}  // namespace coli
