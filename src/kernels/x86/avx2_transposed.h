// Products with transposed matrices: y[c] = fma(x[r] * scale, code[r][c], y[c]), rows ascending.
// Part of avx2.cc.
//
// The columns of a format say how eight neighbouring weights of a row are widened, and what of the
// scale of their group belongs to x and what to the weights.
//
// Four rows pass over y at a time, which saves loads and stores and does not change the order of
// the additions.
#pragma once

#include "kernels/x86/avx2_float.h"
#include "kernels/x86/avx2_fp8.h"
#include "kernels/x86/avx2_packings.h"

namespace coli {
namespace {

constexpr uint32_t kTransposedRows = 4;

// Integer weights: one scale per row or per group of columns, which belongs to x.
template <class Packing>
struct IntegerColumns {
  static constexpr bool kEightReaches = Packing::kEightReaches;
  static size_t RowBytes(uint32_t cols) { return Packing::RowBytes(cols); }
  static uint32_t GroupColumns(const WeightView& w) {
    const uint32_t fixed = Packing::kScalePerSegment ? Packing::kSegment : w.cols;
    return w.format.group != 0 ? w.format.group : fixed;
  }
  static float ScaleOfX(const WeightView& w, uint32_t row, uint32_t group) {
    return Packing::Scale(w.scales, size_t{row} * CeilDivide(w.cols, GroupColumns(w)) + group);
  }
  static float ScaleOfWeights(const WeightView&, uint32_t, uint32_t) { return 1.0F; }
  static __m256 Eight(const std::byte* row, uint32_t c) { return Packing::Eight(row, c); }
  static __m256 Scaled(__m256 weights, __m256 /*scale*/) { return weights; }
};

template <class Loader>
struct FloatColumns {
  static constexpr bool kEightReaches = false;
  static size_t RowBytes(uint32_t cols) { return cols * Loader::kBytes; }
  static uint32_t GroupColumns(const WeightView& w) { return w.cols; }
  static float ScaleOfX(const WeightView&, uint32_t, uint32_t) { return 1.0F; }
  static float ScaleOfWeights(const WeightView&, uint32_t, uint32_t) { return 1.0F; }
  static __m256 Scaled(__m256 weights, __m256 /*scale*/) { return weights; }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    return Loader::Eight(row + c * Loader::kBytes);
  }
};

// Weights are rounded to f32 before the product: their scale is theirs.
struct Fp8Columns {
  static constexpr bool kEightReaches = false;
  static size_t RowBytes(uint32_t cols) { return cols; }
  static uint32_t GroupColumns(const WeightView&) { return kFp8Block; }
  static float ScaleOfX(const WeightView&, uint32_t, uint32_t) { return 1.0F; }
  static float ScaleOfWeights(const WeightView& w, uint32_t row, uint32_t group) {
    return Fp8RowScales(w, row)[group] * kFp8FromF16;
  }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + c));
    return _mm256_cvtph_ps(_mm256_castsi256_si128(Fp8AsF16(codes)));
  }
  static __m256 Scaled(__m256 weights, __m256 scale) { return _mm256_mul_ps(weights, scale); }
};

// The last, incomplete eight columns of a row.
template <class Columns>
inline __m256 LastColumns(const std::byte* row, uint32_t c, uint32_t cols) {
  if constexpr (Columns::kEightReaches) {
    return Columns::Eight(row, c);
  }
  std::byte bytes[32] = {};
  const size_t offset = Columns::RowBytes(c);  // c is even
  memcpy(bytes, row + offset, Columns::RowBytes(cols) - offset);
  return Columns::Eight(bytes, 0);
}

// What kRows rows have in common in one group of columns: x times the scale, and the scale of the
// weights.
template <uint32_t kRows>
struct Factors {
  __m256 x[kRows];
  __m256 weights[kRows];
};

// Adds columns [begin, end) of kRows rows. begin is a multiple of 8, and so is end unless it is the
// end of the rows.
template <class Columns, uint32_t kRows>
inline void AddScaledRows(const std::byte* rows, size_t row_bytes, const Factors<kRows>& factors,
                          uint32_t begin, uint32_t end, float* y) {
  uint32_t c = begin;
  for (; c + 8 <= end; c += 8) {
    __m256 sum = _mm256_loadu_ps(y + c);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m256 weights = Columns::Eight(rows + r * row_bytes, c);
      sum = _mm256_fmadd_ps(factors.x[r], Columns::Scaled(weights, factors.weights[r]), sum);
    }
    _mm256_storeu_ps(y + c, sum);
  }
  if (c < end) {
    alignas(32) float tail[8] = {};
    memcpy(tail, y + c, (end - c) * sizeof(float));
    __m256 sum = _mm256_load_ps(tail);
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m256 weights = LastColumns<Columns>(rows + r * row_bytes, c, end);
      sum = _mm256_fmadd_ps(factors.x[r], Columns::Scaled(weights, factors.weights[r]), sum);
    }
    _mm256_store_ps(tail, sum);
    memcpy(y + c, tail, (end - c) * sizeof(float));
  }
}

template <class Columns, uint32_t kRows>
inline void AddRows(const WeightView& w, const float* x, uint32_t row, float* y) {
  const size_t row_bytes = Columns::RowBytes(w.cols);
  const uint32_t group = Columns::GroupColumns(w);
  const uint32_t groups = CeilDivide(w.cols, group);
  for (uint32_t g = 0; g < groups; ++g) {
    Factors<kRows> factors;
    for (uint32_t r = 0; r < kRows; ++r) {
      factors.x[r] = _mm256_set1_ps(x[row + r] * Columns::ScaleOfX(w, row + r, g));
      factors.weights[r] = _mm256_set1_ps(Columns::ScaleOfWeights(w, row + r, g));
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
