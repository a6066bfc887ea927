// The two 16-bit floats as bit patterns. Widening is exact; narrowing rounds to nearest, ties to
// even, keeps infinities, keeps NaN a (quiet) NaN and overflows to infinity.
//
// bf16 is the upper half of an f32. f16 is IEEE 754 binary16: 5 exponent bits, 10 fraction bits,
// subnormals.
#pragma once

#include <bit>
#include <cstdint>

namespace coli {

inline float FloatFromBf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t Bf16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return static_cast<uint16_t>((bits >> 16) | 0x40U);
  }
  const uint32_t round = 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<uint16_t>((bits + round) >> 16);
}

inline float FloatFromF16(uint16_t bits) {
  constexpr float kSubnormalUnit = 0x1p-24F;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 31U;
  const uint32_t fraction = bits & 1023U;
  uint32_t magnitude = 0;
  if (exponent == 0) {
    magnitude = std::bit_cast<uint32_t>(static_cast<float>(fraction) * kSubnormalUnit);
  } else if (exponent == 31) {
    magnitude = 0x7f800000U | (fraction << 13) | (fraction != 0 ? 0x400000U : 0U);
  } else {
    magnitude = ((exponent + 127 - 15) << 23) | (fraction << 13);
  }
  return std::bit_cast<float>(sign | magnitude);
}

inline uint16_t F16FromFloat(float value) {
  constexpr uint32_t kInfinity = 0x7f800000U;
  constexpr uint32_t kOverflow =
      0x477ff000U;  // 65520, halfway between the largest f16 and the next power
  constexpr uint32_t kSmallestNormal = 0x38800000U;  // 2^-14
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > kInfinity) {
    return static_cast<uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 1023U));
  }
  if (magnitude >= kOverflow) {
    return static_cast<uint16_t>(sign | 0x7c00U);
  }
  if (magnitude < kSmallestNormal) {
    // Adding 1/2, whose last place is the unit of f16 subnormals, leaves the rounded count in the
    // low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  const uint32_t round = 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((magnitude - ((127U - 15U) << 23) + round) >> 13));
}

}  // namespace coli
