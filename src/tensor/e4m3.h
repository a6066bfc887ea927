// FP8 in the form e4m3fn as bit patterns: sign, 4 exponent bits with bias 7, 3 fraction bits,
// subnormals of 2^-9, no infinities. 0x7f and 0xff are NaN; the largest magnitude is 448.
//
// Widening is exact. Narrowing rounds to nearest, ties to even, and takes what lies beyond the
// range to the largest magnitude; NaN stays NaN.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace coli {

inline constexpr float kE4m3Largest = 448.0F;

inline float FloatFromE4m3(uint8_t bits) {
  constexpr float kSubnormalUnit = 0x1p-9F;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80U) << 24;
  const uint32_t exponent = (bits >> 3) & 15U;
  const uint32_t fraction = bits & 7U;
  if (exponent == 15 && fraction == 7) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const uint32_t magnitude =
      exponent == 0 ? std::bit_cast<uint32_t>(static_cast<float>(fraction) * kSubnormalUnit)
                    : ((exponent + 127 - 7) << 23) | (fraction << 20);
  return std::bit_cast<float>(sign | magnitude);
}

inline uint8_t E4m3FromFloat(float value) {
  constexpr uint32_t kSmallestNormal = 0x3c800000U;  // 2^-6
  constexpr uint32_t kLargestCode = 0x7eU;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 24) & 0x80U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return static_cast<uint8_t>(sign | 0x7fU);
  }
  if (magnitude < kSmallestNormal) {
    // The last place of 2^14 is the unit of e4m3 subnormals: adding it leaves the rounded count in
    // the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14F;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x46800000U));
  }
  const uint32_t round = 0x7ffffU + ((magnitude >> 20) & 1U);
  const uint32_t code = (magnitude - ((127U - 7U) << 23) + round) >> 20;
  return static_cast<uint8_t>(sign | std::min(code, kLargestCode));
}

}  // namespace coli
