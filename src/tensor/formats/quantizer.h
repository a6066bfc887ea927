// The quantiser of all absmax formats, in f32 throughout: scale = max(absmax / qmax, 1e-8), code =
// value / scale rounded to nearest with ties to even, clamped to the range of the codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace coli {

inline float AbsmaxScale(const float* values, uint64_t count, float qmax) {
  constexpr float kSmallestScale = 1e-8F;
  float absmax = 0;
  for (uint64_t i = 0; i < count; ++i) {
    absmax = std::max(absmax, std::fabs(values[i]));
  }
  return std::max(absmax / qmax, kSmallestScale);
}

inline int32_t QuantizedCode(float value, float scale, float lowest, float highest) {
  return static_cast<int32_t>(std::clamp(std::nearbyint(value / scale), lowest, highest));
}

}  // namespace coli
