// What the NEON kernels share. Included by neon.cc only. The eight virtual lanes of a product lie
// in two registers.
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/tiles.h"

namespace coli {
namespace {

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

}  // namespace
}  // namespace coli
