// What the AVX2 kernels share. Included by the .cc files of instruction sets only: everything here
// has internal linkage, so that no function compiled for AVX2 can stand in for one that runs on
// every CPU.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/tiles.h"

namespace coli {
namespace {

// The fixed order of additions: ((0+4)+(2+6)) + ((1+5)+(3+7)).
inline float AddLanes(__m256 lanes) {
  const __m128 fours = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  const __m128 twos = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
  return _mm_cvtss_f32(_mm_add_ss(twos, _mm_movehdup_ps(twos)));
}

// The same order for 8 lanes of f64, 0..3 in `low` and 4..7 in `high`.
inline double AddLanes(__m256d low, __m256d high) {
  const __m256d fours = _mm256_add_pd(low, high);
  const __m128d twos = _mm_add_pd(_mm256_castpd256_pd128(fours), _mm256_extractf128_pd(fours, 1));
  return _mm_cvtsd_f64(_mm_add_sd(twos, _mm_unpackhi_pd(twos, twos)));
}

// The scales of a matrix whose format keeps them in f32.
inline const float* FloatScales(const WeightView& w) {
  return reinterpret_cast<const float*>(w.scales);
}

inline __m256i Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

inline void Store(void* p, __m256i value) { _mm256_storeu_si256(static_cast<__m256i*>(p), value); }

// Pins a running sum to its register at this point. Without it GCC adds the products of several
// steps in another order, which needs more registers than there are.
inline __attribute__((always_inline)) void Pin(__m256i& sum) { __asm__("" : "+x"(sum)); }

// Asks for the line at an address that may lie outside the matrix: prefetches never fault.
// Always inline, as what calls it must be: with GCC 12 a call was seen to vanish, as one without
// effects.
inline __attribute__((always_inline)) void PrefetchLine(uintptr_t address) {
  _mm_prefetch(reinterpret_cast<const char*>(address), _MM_HINT_T0);
}

// Asks for the line `bytes` after `p`.
inline __attribute__((always_inline)) void PrefetchAhead(const void* p, uintptr_t bytes) {
  PrefetchLine(reinterpret_cast<uintptr_t>(p) + bytes);
}

// Called for one piece of a stream after the other: where a page ends, asks for all of the page
// after the one that begins, which may lie outside the matrix. It suits kernels with little
// arithmetic (docs/performance.md has the figures).
inline __attribute__((always_inline)) void PrefetchNextPage(const std::byte* p, size_t bytes) {
  constexpr uintptr_t kPageBytes = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(p);
  const uintptr_t end = begin + bytes;
  if (begin / kPageBytes != end / kPageBytes) {
    const auto* page = reinterpret_cast<const std::byte*>(end / kPageBytes * kPageBytes);
    for (uintptr_t line = 0; line < kPageBytes; line += kCacheLine) {
      PrefetchAhead(page + line, kPageBytes);
    }
  }
}

}  // namespace
}  // namespace coli
