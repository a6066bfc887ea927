// Products with fp8-e4m3-b128 weights: e4m3 times the scale of its block, rounded to f32, then as
// with other float weights. Part of avx2.cc.
//
// Exponent and fraction of e4m3 have their places in f16, too, where the bias is 15 instead of 7:
// the same bits mean e4m3 / 256. So a shift and the conversion from f16 widen a code, subnormals
// included, and the scale takes the factor of 256. Both steps are exact, because a scale is small
// enough for 256 of it to be finite (FormatInfo::largest_scale).
#pragma once

#include "kernels/x86/avx2_float.h"

namespace coli {
namespace {

constexpr uint32_t kFp8Block = 128;  // rows and columns
constexpr float kFp8FromF16 = 256.0F;

struct SixteenFloats {
  __m256 low;
  __m256 high;
};

// e4m3 / 256 of sixteen codes, in f16.
inline __m256i Fp8AsF16(__m128i codes) {
  const __m256i magnitude = _mm256_set1_epi16(0x3f80);
  const __m256i wide =
      _mm256_slli_epi16(_mm256_cvtepi8_epi16(codes), 7);  // the sign is there twice
  const __m256i f16 = _mm256_and_si256(wide, _mm256_set1_epi16(static_cast<int16_t>(0xbf80)));
  const __m256i is_nan = _mm256_cmpeq_epi16(_mm256_and_si256(f16, magnitude), magnitude);
  return _mm256_or_si256(f16, is_nan);
}

// Sixteen weights; `scale` is 256 times that of the block.
inline SixteenFloats Fp8Sixteen(const std::byte* codes, __m256 scale) {
  const __m256i f16 = Fp8AsF16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  return {_mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(f16)), scale),
          _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(f16, 1)), scale)};
}

// 256 times the scales of a row, one per 128 columns: what Fp8Sixteen wants.
inline __m256 Fp8Scale(const float* scales, uint32_t block) {
  return _mm256_set1_ps(scales[block] * kFp8FromF16);
}

inline const float* Fp8RowScales(const WeightView& w, uint32_t row) {
  return FloatScales(w) + size_t{(w.rows_above + row) / kFp8Block} * CeilDivide(w.cols, kFp8Block);
}

struct Fp8Codec {
  static constexpr uint32_t kTileTokens = 4;
  static constexpr size_t kTileBytes = SIZE_MAX;
  static constexpr uintptr_t kPrefetchBytes = 2048;

  WeightView w;

  explicit Fp8Codec(const WeightView& weights) : w(weights) {}

  // Columns [begin, end) of a row, whole sixteens of one block.
  template <uint32_t kTokens>
  inline __attribute__((always_inline)) static void Columns(const std::byte* weights, __m256 scale,
                                                            uint32_t begin, uint32_t end,
                                                            const std::byte* x, size_t x_stride,
                                                            __m256* low, __m256* high) {
    for (uint32_t c = begin; c < end; c += 16) {
      const SixteenFloats sixteen = Fp8Sixteen(weights + c, scale);
#pragma GCC unroll 4
      for (uint32_t t = 0; t < kTokens; ++t) {
        const auto* token = reinterpret_cast<const float*>(x + t * x_stride) + c;
        low[t] = _mm256_fmadd_ps(_mm256_loadu_ps(token), sixteen.low, low[t]);
        high[t] = _mm256_fmadd_ps(_mm256_loadu_ps(token + 8), sixteen.high, high[t]);
      }
    }
  }

  template <uint32_t kTokens>
  void Row(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride) const {
    const std::byte* weights = w.codes + size_t{row} * w.cols;
    const float* scales = Fp8RowScales(w, row);
    __m256 low[kTokens];
    __m256 high[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      low[t] = _mm256_setzero_ps();
      high[t] = _mm256_setzero_ps();
    }
    const uint32_t whole = w.cols / kFp8Block * kFp8Block;
    for (uint32_t c = 0; c < whole; c += kFp8Block) {
      PrefetchAhead(weights + c, kPrefetchBytes);
      PrefetchAhead(weights + c + kCacheLine, kPrefetchBytes);
      Columns<kTokens>(weights, Fp8Scale(scales, c / kFp8Block), c, c + kFp8Block, x, x_stride, low,
                       high);
    }
    alignas(32) float tail[16] = {};
    const uint32_t sixteens = w.cols / 16 * 16;
    if (whole < w.cols) {
      const __m256 scale = Fp8Scale(scales, whole / kFp8Block);
      Columns<kTokens>(weights, scale, whole, sixteens, x, x_stride, low, high);
      std::byte bytes[16] = {};
      memcpy(bytes, weights + sixteens, w.cols - sixteens);
      const SixteenFloats sixteen = Fp8Sixteen(bytes, scale);
      _mm256_store_ps(tail, sixteen.low);
      _mm256_store_ps(tail + 8, sixteen.high);
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      const auto* token = reinterpret_cast<const float*>(x + t * x_stride) + sixteens;
      y[t * y_stride] = AddLanesAndTail(low[t], high[t], token, tail, w.cols - sixteens);
    }
  }
};

}  // namespace
}  // namespace coli
