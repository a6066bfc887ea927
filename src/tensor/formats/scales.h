// Scales as bytes in memory, one after the other.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coli {

// f32, little-endian.
inline float LoadScale(const std::byte* scales, uint64_t index) {
  float scale = 0;
  std::memcpy(&scale, scales + index * sizeof(scale), sizeof(scale));
  return scale;
}

inline void StoreScale(float scale, uint64_t index, std::byte* scales) {
  std::memcpy(scales + index * sizeof(scale), &scale, sizeof(scale));
}

// 2^(e - 128) of the byte e; NaN for 255. The two smallest are subnormal.
inline float HalfPowerOfTwo(std::byte exponent) {
  const auto e = std::to_integer<uint32_t>(exponent);
  if (e == 255) {
    return std::bit_cast<float>(0x7fc00000U);
  }
  return std::bit_cast<float>(e >= 2 ? (e - 1) << 23 : 0x200000U << e);
}

}  // namespace coli
