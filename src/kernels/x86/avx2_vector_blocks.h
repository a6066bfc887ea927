// Products of several vectors with several others: a value that is loaded once serves many. Part of
// avx2.cc. Loops over a tile are unrolled by request: only then are its sums in registers.
#pragma once

#include "kernels/x86/avx2_float.h"

namespace coli {
namespace {

// The dot products of kRows rows and kVectors vectors, all sums in registers: the 16 virtual lanes
// of each are those of Dot.
template <size_t kRows, size_t kVectors>
inline void DotTile(const float* a, size_t a_stride, const float* const* b, size_t n, float* out,
                    size_t out_stride) {
  __m256 low[kRows][kVectors];
  __m256 high[kRows][kVectors];
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kVectors; ++k) {
      low[r][k] = high[r][k] = _mm256_setzero_ps();
    }
  }
  const auto add = [&](__m256(&sums)[kRows][kVectors], size_t i) __attribute__((always_inline)) {
    __m256 rows[kRows];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      rows[r] = _mm256_loadu_ps(a + r * a_stride + i);
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < kVectors; ++k) {
      __m256 vector = _mm256_loadu_ps(b[k] + i);
      // Loaded once: GCC would load it again for every row, and loads are what limits the loop.
      __asm__("" : "+x"(vector));
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        sums[r][k] = _mm256_fmadd_ps(rows[r], vector, sums[r][k]);
      }
    }
  };
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    add(low, i);
    add(high, i + 8);
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kVectors; ++k) {
      out[r * out_stride + k] = AddLanesAndTail(low[r][k], high[r][k], a + r * a_stride + i,
                                                b[k] + i, static_cast<uint32_t>(n - i));
    }
  }
}

template <size_t kRows>
inline void DotRows(const float* a, size_t a_stride, const FloatVectors& b, size_t n, float* out,
                    size_t out_stride) {
  size_t k = 0;
  for (; k + 3 <= b.count; k += 3) {
    DotTile<kRows, 3>(a, a_stride, b.vectors + k, n, out + k, out_stride);
  }
  for (; k < b.count; ++k) {
    DotTile<kRows, 1>(a, a_stride, b.vectors + k, n, out + k, out_stride);
  }
}

void Dots(const FloatRows& a, const FloatVectors& b, size_t n, float* out, size_t out_stride) {
  size_t r = 0;
  for (; r + 2 <= a.count; r += 2) {
    DotRows<2>(a.values + r * a.stride, a.stride, b, n, out + r * out_stride, out_stride);
  }
  if (r < a.count) {
    DotRows<1>(a.values + r * a.stride, a.stride, b, n, out + r * out_stride, out_stride);
  }
}

// kRows rows of y, every vector of x added in turn to a tile of 16 columns in registers.
template <size_t kRows>
inline void AxpyRows(const float* factors, size_t stride, const FloatVectors& x, size_t n, float* y,
                     size_t y_stride) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m256 low[kRows];
    __m256 high[kRows];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      low[r] = _mm256_loadu_ps(y + r * y_stride + i);
      high[r] = _mm256_loadu_ps(y + r * y_stride + i + 8);
    }
    for (size_t k = 0; k < x.count; ++k) {
      const __m256 x_low = _mm256_loadu_ps(x.vectors[k] + i);
      const __m256 x_high = _mm256_loadu_ps(x.vectors[k] + i + 8);
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        const __m256 factor = _mm256_broadcast_ss(factors + r * stride + k);
        low[r] = _mm256_fmadd_ps(factor, x_low, low[r]);
        high[r] = _mm256_fmadd_ps(factor, x_high, high[r]);
      }
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      _mm256_storeu_ps(y + r * y_stride + i, low[r]);
      _mm256_storeu_ps(y + r * y_stride + i + 8, high[r]);
    }
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = i; c < n; ++c) {
      float& sum = y[r * y_stride + c];
      for (size_t k = 0; k < x.count; ++k) {
        sum = __builtin_fmaf(factors[r * stride + k], x.vectors[k][c], sum);
      }
    }
  }
}

void Axpys(const FloatRows& factors, const FloatVectors& x, size_t n, float* y, size_t y_stride) {
  size_t r = 0;
  for (; r + 4 <= factors.count; r += 4) {
    AxpyRows<4>(factors.values + r * factors.stride, factors.stride, x, n, y + r * y_stride,
                y_stride);
  }
  for (; r < factors.count; ++r) {
    AxpyRows<1>(factors.values + r * factors.stride, factors.stride, x, n, y + r * y_stride,
                y_stride);
  }
}

}  // namespace
}  // namespace coli
