// Products with transposed matrices: y[c] = fma(x[r] * scale, code[r][c], y[c]), rows ascending.
// Part of avx2.cc.
//
// Four rows pass over y at a time, which saves loads and stores and does not change the order of
// the additions.
#pragma once

#include "kernels/x86/avx2_float.h"

namespace coli {
namespace {

constexpr uint32_t kTransposedRows = 4;

struct Int8Columns {
  static constexpr bool kHasScales = true;
  static size_t RowBytes(uint32_t cols) { return cols; }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + c));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
};

struct Int4Columns {
  static constexpr bool kHasScales = true;
  static size_t RowBytes(uint32_t cols) { return cols / 2 + cols % 2; }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    int32_t bytes = 0;
    memcpy(&bytes, row + c / 2, sizeof(bytes));
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i nibbles = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(bytes), shifts),
                                             _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(nibbles, _mm256_set1_epi32(8)));
  }
};

template <class Loader>
struct FloatColumns {
  static constexpr bool kHasScales = false;
  static size_t RowBytes(uint32_t cols) { return cols * Loader::kBytes; }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    return Loader::Eight(row + c * Loader::kBytes);
  }
};

// The last, incomplete eight columns of a row.
template <class Columns>
inline __m256 LastColumns(const std::byte* row, uint32_t c, uint32_t cols) {
  std::byte bytes[32] = {};
  const size_t offset = Columns::RowBytes(c);  // c is even
  memcpy(bytes, row + offset, Columns::RowBytes(cols) - offset);
  return Columns::Eight(bytes, 0);
}

// Adds columns [begin, end) of kRows rows. begin is a multiple of 8, and so is end unless it is the
// end of the rows.
template <class Columns, uint32_t kRows>
inline void AddScaledRows(const std::byte* rows, size_t row_bytes, const float* factors,
                          uint32_t begin, uint32_t end, float* y) {
  __m256 factor[kRows];
  for (uint32_t r = 0; r < kRows; ++r) {
    factor[r] = _mm256_set1_ps(factors[r]);
  }
  uint32_t c = begin;
  for (; c + 8 <= end; c += 8) {
    __m256 sum = _mm256_loadu_ps(y + c);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      sum = _mm256_fmadd_ps(factor[r], Columns::Eight(rows + r * row_bytes, c), sum);
    }
    _mm256_storeu_ps(y + c, sum);
  }
  if (c < end) {
    alignas(32) float tail[8] = {};
    memcpy(tail, y + c, (end - c) * sizeof(float));
    __m256 sum = _mm256_load_ps(tail);
    for (uint32_t r = 0; r < kRows; ++r) {
      sum = _mm256_fmadd_ps(factor[r], LastColumns<Columns>(rows + r * row_bytes, c, end), sum);
    }
    _mm256_store_ps(tail, sum);
    memcpy(y + c, tail, (end - c) * sizeof(float));
  }
}

template <class Columns, uint32_t kRows>
inline void AddRows(const WeightView& w, const float* x, uint32_t row, float* y) {
  const size_t row_bytes = Columns::RowBytes(w.cols);
  const uint32_t group = w.format.group != 0 ? w.format.group : w.cols;
  const uint32_t groups = CeilDivide(w.cols, group);
  for (uint32_t g = 0; g < groups; ++g) {
    float factors[kRows];
    for (uint32_t r = 0; r < kRows; ++r) {
      const float scale = Columns::kHasScales ? w.scales[size_t{row + r} * groups + g] : 1.0F;
      factors[r] = x[row + r] * scale;
    }
    const uint32_t end = g + 1 < groups ? (g + 1) * group : w.cols;
    AddScaledRows<Columns, kRows>(w.codes + row * row_bytes, row_bytes, factors, g * group, end, y);
  }
}

template <class Columns>
void MultiplyTransposed(const WeightView& w, const float* x, float* y) {
  if (w.cols == 0) {
    return;
  }
  memset(y, 0, w.cols * sizeof(float));
  uint32_t r = 0;
  for (; r + kTransposedRows <= w.rows; r += kTransposedRows) {
    AddRows<Columns, kTransposedRows>(w, x, r, y);
  }
  for (; r < w.rows; ++r) {
    AddRows<Columns, 1>(w, x, r, y);
  }
}

}  // namespace
}  // namespace coli
