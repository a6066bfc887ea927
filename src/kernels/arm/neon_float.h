// Products with float weights: f32, bf16, f16, widened exactly. Part of neon.cc.
//
// Sixteen virtual lanes in four registers; a prepared row is the f32 row itself.
#pragma once

#include "kernels/arm/neon_common.h"

namespace coli {
namespace {

struct F32Loader {
  static constexpr size_t kBytes = 4;
  static float32x4_t Four(const std::byte* p) {
    return vld1q_f32(reinterpret_cast<const float*>(p));
  }
};

struct Bf16Loader {
  static constexpr size_t kBytes = 2;
  static float32x4_t Four(const std::byte* p) {
    const uint16x4_t v = vld1_u16(reinterpret_cast<const uint16_t*>(p));
    return vreinterpretq_f32_u32(vshll_n_u16(v, 16));
  }
};

struct F16Loader {
  static constexpr size_t kBytes = 2;
  static float32x4_t Four(const std::byte* p) {
    const uint16x4_t v = vld1_u16(reinterpret_cast<const uint16_t*>(p));
    return vcvt_f32_f16(vreinterpret_f16_u16(v));
  }
};

struct Lanes16 {
  float32x4_t quarter[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};

  void Add(const float* x, int q, float32x4_t weights) {
    quarter[q] = vfmaq_f32(quarter[q], vld1q_f32(x + 4 * q), weights);
  }
  // Adds the products of `count` < 16 more columns, then the lanes.
  float Sum(const float* x, const float* weights, size_t count) {
    if (count != 0) {
      float lane[16];
      for (int q = 0; q < 4; ++q) {
        vst1q_f32(lane + 4 * q, quarter[q]);
      }
      for (size_t i = 0; i < count; ++i) {
        lane[i] = __builtin_fmaf(x[i], weights[i], lane[i]);
      }
      for (int q = 0; q < 4; ++q) {
        quarter[q] = vld1q_f32(lane + 4 * q);
      }
    }
    return AddLanes({vaddq_f32(quarter[0], quarter[2]), vaddq_f32(quarter[1], quarter[3])});
  }
};

template <class Loader>
struct FloatCodec {
  static constexpr uint32_t kTileTokens = 4;
  static constexpr size_t kTileBytes = SIZE_MAX;

  const std::byte* codes;
  uint32_t cols;

  explicit FloatCodec(const WeightView& w) : codes(w.codes), cols(w.cols) {}

  template <uint32_t kTokens>
  void Row(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride) const {
    const std::byte* weights = codes + size_t{row} * cols * Loader::kBytes;
    Lanes16 lanes[kTokens];
    uint32_t c = 0;
    for (; c + 16 <= cols; c += 16) {
      for (int q = 0; q < 4; ++q) {
        const auto offset = static_cast<size_t>(q) * 4 + c;
        const float32x4_t four = Loader::Four(weights + offset * Loader::kBytes);
        for (uint32_t t = 0; t < kTokens; ++t) {
          lanes[t].Add(reinterpret_cast<const float*>(x + t * x_stride) + c, q, four);
        }
      }
    }
    float tail[16] = {};
    if (c < cols) {
      std::byte bytes[16 * Loader::kBytes] = {};
      memcpy(bytes, weights + c * Loader::kBytes, (cols - c) * Loader::kBytes);
      for (size_t i = 0; i < 16; i += 4) {
        vst1q_f32(tail + i, Loader::Four(bytes + i * Loader::kBytes));
      }
    }
    for (uint32_t t = 0; t < kTokens; ++t) {
      const auto* token = reinterpret_cast<const float*>(x + t * x_stride) + c;
      y[t * y_stride] = lanes[t].Sum(token, tail, cols - c);
    }
  }
};

// y[c] = fma(x[r], w[r][c], y[c]), rows ascending.
template <class Loader>
void FloatMultiplyTransposed(const WeightView& w, const float* x, float* y) {
  if (w.cols == 0) {
    return;
  }
  memset(y, 0, w.cols * sizeof(float));
  const uint32_t whole = w.cols / 4 * 4;
  for (uint32_t r = 0; r < w.rows; ++r) {
    const std::byte* row = w.codes + size_t{r} * w.cols * Loader::kBytes;
    for (uint32_t c = 0; c < whole; c += 4) {
      vst1q_f32(y + c, vfmaq_n_f32(vld1q_f32(y + c), Loader::Four(row + c * Loader::kBytes), x[r]));
    }
    if (whole < w.cols) {
      std::byte bytes[4 * Loader::kBytes] = {};
      memcpy(bytes, row + whole * Loader::kBytes, (w.cols - whole) * Loader::kBytes);
      float tail[4];
      vst1q_f32(tail, Loader::Four(bytes));
      for (uint32_t c = whole; c < w.cols; ++c) {
        y[c] = __builtin_fmaf(x[r], tail[c - whole], y[c]);
      }
    }
  }
}

}  // namespace
}  // namespace coli
