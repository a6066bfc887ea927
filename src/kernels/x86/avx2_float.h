// Products with float weights: f32, bf16, f16, widened exactly. Part of avx2.cc.
//
// Sixteen virtual lanes in two registers; a prepared row is the f32 row itself.
#pragma once

#include "kernels/x86/avx2_common.h"

namespace coli {
namespace {

struct F32Loader {
  static constexpr size_t kBytes = 4;
  static __m256 Eight(const std::byte* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
};

struct Bf16Loader {
  static constexpr size_t kBytes = 2;
  static __m256 Eight(const std::byte* p) {
    const __m256i wide =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
};

struct F16Loader {
  static constexpr size_t kBytes = 2;
  static __m256 Eight(const std::byte* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};

// Adds columns [0, count), count < 16, to the first `count` of the lanes.
inline float AddLanesAndTail(__m256 low, __m256 high, const float* x, const float* weights,
                             uint32_t count) {
  if (count != 0) {
    alignas(32) float lane[16];
    _mm256_store_ps(lane, low);
    _mm256_store_ps(lane + 8, high);
    for (uint32_t i = 0; i < count; ++i) {
      lane[i] = __builtin_fmaf(x[i], weights[i], lane[i]);
    }
    low = _mm256_load_ps(lane);
    high = _mm256_load_ps(lane + 8);
  }
  return AddLanes(_mm256_add_ps(low, high));
}

template <class Loader>
struct FloatCodec {
  static constexpr uint32_t kTileTokens = 4;
  static constexpr size_t kTileBytes = SIZE_MAX;
  static constexpr uintptr_t kPrefetchBytes = 2048;

  const std::byte* codes;
  uint32_t cols;

  explicit FloatCodec(const WeightView& w) : codes(w.codes), cols(w.cols) {}

  template <uint32_t kTokens>
  void Row(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride) const {
    const std::byte* weights = codes + size_t{row} * cols * Loader::kBytes;
    __m256 low[kTokens];
    __m256 high[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      low[t] = _mm256_setzero_ps();
      high[t] = _mm256_setzero_ps();
    }
    uint32_t c = 0;
    for (; c + 16 <= cols; c += 16) {
      const std::byte* here = weights + c * Loader::kBytes;
      PrefetchAhead(here, kPrefetchBytes);
      const __m256 weights_low = Loader::Eight(here);
      const __m256 weights_high = Loader::Eight(here + 8 * Loader::kBytes);
#pragma GCC unroll 4
      for (uint32_t t = 0; t < kTokens; ++t) {
        const auto* token = reinterpret_cast<const float*>(x + t * x_stride) + c;
        low[t] = _mm256_fmadd_ps(_mm256_loadu_ps(token), weights_low, low[t]);
        high[t] = _mm256_fmadd_ps(_mm256_loadu_ps(token + 8), weights_high, high[t]);
      }
    }
    alignas(32) float tail[16] = {};
    if (c < cols) {
      std::byte bytes[16 * Loader::kBytes] = {};
      memcpy(bytes, weights + c * Loader::kBytes, (cols - c) * Loader::kBytes);
      _mm256_store_ps(tail, Loader::Eight(bytes));
      _mm256_store_ps(tail + 8, Loader::Eight(bytes + 8 * Loader::kBytes));
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      const auto* token = reinterpret_cast<const float*>(x + t * x_stride) + c;
      y[t * y_stride] = AddLanesAndTail(low[t], high[t], token, tail, cols - c);
    }
  }
};

}  // namespace
}  // namespace coli
