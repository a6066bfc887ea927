#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace coli {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Bf16, EveryValueSurvivesWideningAndNarrowing) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = FloatFromBf16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FloatFromBf16(Bf16FromFloat(value))));
    } else {
      ASSERT_EQ(Bf16FromFloat(value), bits);
    }
  }
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(Bf16FromFloat(1.0F), 0x3f80);
  EXPECT_EQ(Bf16FromFloat(1.0F + 0x1p-8F), 0x3f80);  // tie, down to even
  EXPECT_EQ(Bf16FromFloat(1.0F + 0x1p-8F + 0x1p-20F), 0x3f81);
  EXPECT_EQ(Bf16FromFloat(1.0F + 3 * 0x1p-8F), 0x3f82);  // tie, up to even
  EXPECT_EQ(Bf16FromFloat(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(Bf16FromFloat(-kInfinity), 0xff80);
  EXPECT_EQ(Bf16FromFloat(-0.0F), 0x8000);
  EXPECT_EQ(Bf16FromFloat(0x1p-149F), 0x0000);    // the smallest f32 is far below the smallest bf16
  EXPECT_EQ(Bf16FromFloat(0x1.8p-134F), 0x0001);  // a subnormal, rounded up from 3/4
}

TEST(Bf16, NanStaysNanEvenWithALowPayload) {
  uint32_t bits = 0x7f800001U;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));

  EXPECT_TRUE(std::isnan(FloatFromBf16(Bf16FromFloat(value))));
  EXPECT_TRUE(std::isnan(FloatFromBf16(Bf16FromFloat(kNan))));
}

TEST(F16, EveryValueSurvivesWideningAndNarrowing) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = FloatFromF16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FloatFromF16(F16FromFloat(value))));
    } else {
      ASSERT_EQ(F16FromFloat(value), bits);
    }
  }
}

TEST(F16, KnownValues) {
  EXPECT_EQ(FloatFromF16(0x3c00), 1.0F);
  EXPECT_EQ(FloatFromF16(0xc000), -2.0F);
  EXPECT_EQ(FloatFromF16(0x7bff), 65504.0F);
  EXPECT_EQ(FloatFromF16(0x0400), 0x1p-14F);
  EXPECT_EQ(FloatFromF16(0x0001), 0x1p-24F);
  EXPECT_EQ(FloatFromF16(0x83ff), -1023 * 0x1p-24F);
  EXPECT_EQ(FloatFromF16(0x7c00), kInfinity);
  EXPECT_EQ(FloatFromF16(0x3555), 0x1.554p-2F);
}

// Narrowing against the definition: the nearest of all 65,536 values, the even one of two equally
// near.
TEST(F16, NarrowingIsNearestEvenBetweenNeighbours) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto next = static_cast<uint16_t>(bits + 1);
    const double low = FloatFromF16(bits);
    const double high = FloatFromF16(next);
    const auto middle = static_cast<float>((low + high) / 2);  // exact: one more bit than f16 has
    const uint16_t even = bits % 2 == 0 ? bits : next;

    ASSERT_EQ(F16FromFloat(middle), even) << bits;
    ASSERT_EQ(F16FromFloat(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(F16FromFloat(std::nextafter(middle, kInfinity)), next) << bits;
    ASSERT_EQ(F16FromFloat(-middle), even | 0x8000) << bits;
  }
}

TEST(F16, OverflowsToInfinity) {
  EXPECT_EQ(F16FromFloat(65519.99F), 0x7bff);
  EXPECT_EQ(F16FromFloat(65520.0F), 0x7c00);
  EXPECT_EQ(F16FromFloat(-1e30F), 0xfc00);
  EXPECT_EQ(F16FromFloat(kInfinity), 0x7c00);
  EXPECT_EQ(F16FromFloat(0x1p-149F), 0x0000);
  EXPECT_TRUE(std::isnan(FloatFromF16(F16FromFloat(kNan))));
}

}  // namespace
}  // namespace coli
