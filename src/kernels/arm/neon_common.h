// What the NEON kernels share. Included by neon.cc only. The eight virtual lanes of a product lie in
// two registers.
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernel_functions.h"

namespace coli {
namespace {

constexpr uint32_t kCacheLine = 64;
// Rows that stay in the second-level cache while all tokens pass over them.
constexpr uint32_t kRowBlock = 64;
constexpr uint32_t kTileTokens = 4;

constexpr uint32_t CeilDivide(uint32_t a, uint32_t b) { return a / b + (a % b != 0 ? 1 : 0); }

inline size_t RoundUpToLine(size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

struct Lanes8 {
  float32x4_t low;   // 0..3
  float32x4_t high;  // 4..7
};

inline Lanes8 ZeroLanes() { return {vdupq_n_f32(0), vdupq_n_f32(0)}; }

// The fixed order of additions: ((0+4)+(2+6)) + ((1+5)+(3+7)).
inline float AddLanes(Lanes8 lanes) {
  const float32x4_t fours = vaddq_f32(lanes.low, lanes.high);
  const float32x2_t twos = vadd_f32(vget_low_f32(fours), vget_high_f32(fours));
  return vget_lane_f32(twos, 0) + vget_lane_f32(twos, 1);
}

// Products of weight rows and prepared tokens, in tiles. A codec describes one format:
//   Codec(w)                                            shapes and pointers of a matrix
//   codec.Row<kTokens>(row, x, x_stride, y, y_stride)   a weight row times kTokens prepared tokens
template <uint32_t kTokens, class Codec>
void MultiplyTiles(const Codec& codec, const PreparedRows& x, uint32_t begin, uint32_t end,
                   uint32_t& t, float* y, size_t y_stride) {
  for (; t + kTokens <= x.tokens; t += kTokens) {
    for (uint32_t r = begin; r < end; ++r) {
      codec.template Row<kTokens>(r, x.bytes + t * x.row_bytes, x.row_bytes, y + t * y_stride + r,
                                  y_stride);
    }
  }
}

template <class Codec>
void Multiply(const WeightView& w, const PreparedRows& x, uint32_t row_begin, uint32_t row_end,
              float* y, size_t y_stride) {
  const Codec codec(w);
  for (uint32_t begin = row_begin; begin < row_end; begin += kRowBlock) {
    const uint32_t end = row_end - begin < kRowBlock ? row_end : begin + kRowBlock;
    uint32_t t = 0;
    MultiplyTiles<kTileTokens>(codec, x, begin, end, t, y, y_stride);
    MultiplyTiles<1>(codec, x, begin, end, t, y, y_stride);
  }
}

}  // namespace
}  // namespace coli
