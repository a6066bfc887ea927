#include "tensor/e4m3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace coli {
namespace {

constexpr int kNan = 0x7f;

TEST(E4m3, KnownValues) {
  EXPECT_EQ(FloatFromE4m3(0x00), 0.0F);
  EXPECT_TRUE(std::signbit(FloatFromE4m3(0x80)));
  EXPECT_EQ(FloatFromE4m3(0x01), 0.001953125F);
  EXPECT_EQ(FloatFromE4m3(0x07), 0.013671875F);
  EXPECT_EQ(FloatFromE4m3(0x08), 0.015625F);
  EXPECT_EQ(FloatFromE4m3(0x38), 1.0F);
  EXPECT_EQ(FloatFromE4m3(0x3c), 1.5F);
  EXPECT_EQ(FloatFromE4m3(0x7e), 448.0F);
  EXPECT_EQ(FloatFromE4m3(0xfe), -448.0F);
  EXPECT_TRUE(std::isnan(FloatFromE4m3(0x7f)));
  EXPECT_TRUE(std::isnan(FloatFromE4m3(0xff)));
}

// The definition: (-1)^s * 2^(max(e, 1) - 7) * ((e > 0) + m / 8).
TEST(E4m3, EveryCodeHasTheValueOfItsFields) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == kNan) {
      continue;
    }
    const int exponent = (code >> 3) & 15;
    const double significand = (exponent > 0 ? 1.0 : 0.0) + (code & 7) / 8.0;
    const double value =
        std::ldexp(code < 128 ? significand : -significand, std::max(exponent, 1) - 7);
    EXPECT_EQ(static_cast<double>(FloatFromE4m3(static_cast<uint8_t>(code))), value) << code;
  }
}

TEST(E4m3, EveryCodeComesBack) {
  for (int code = 0; code < 256; ++code) {
    const int expected = (code & 0x7f) == kNan ? kNan : code;
    EXPECT_EQ(E4m3FromFloat(FloatFromE4m3(static_cast<uint8_t>(code))), expected) << code;
  }
}

// Between two neighbours the nearer one is taken, and the even code in the middle.
TEST(E4m3, NarrowingRoundsToTheNearestAndTiesToEven) {
  for (uint8_t code = 0; code < 0x7e; ++code) {
    const float low = FloatFromE4m3(code);
    const float high = FloatFromE4m3(static_cast<uint8_t>(code + 1));
    const float middle = low + (high - low) / 2;
    const int even = code % 2 == 0 ? code : code + 1;

    EXPECT_EQ(E4m3FromFloat(middle), even) << middle;
    EXPECT_EQ(E4m3FromFloat(-middle), even | 0x80) << middle;
    EXPECT_EQ(E4m3FromFloat(std::nextafter(middle, 0.0F)), code) << middle;
    EXPECT_EQ(E4m3FromFloat(std::nextafter(middle, 1e9F)), code + 1) << middle;
  }
}

TEST(E4m3, BeyondTheRangeIsTheLargestMagnitude) {
  for (const float value : {449.0F, 480.0F, 1e9F, 3e38F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(E4m3FromFloat(value), 0x7e) << value;
    EXPECT_EQ(E4m3FromFloat(-value), 0xfe) << value;
  }
  EXPECT_EQ(E4m3FromFloat(std::numeric_limits<float>::quiet_NaN()), 0x7f);
  EXPECT_EQ(E4m3FromFloat(std::numeric_limits<float>::denorm_min()), 0x00);
}

}  // namespace
}  // namespace coli
