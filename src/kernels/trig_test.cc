#include "kernels/trig.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/dispatch.h"

namespace coli {
namespace {

long double UlpError(float found, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(static_cast<long double>(found) - exact) /
         std::ldexp(1.0L, std::max(exponent - 24, -149));
}

// glibc's f80 functions reduce their argument with as many digits of pi as it takes.
void ExpectNearestTo(float angle) {
  const SinCosPair found = SinCos(angle);
  EXPECT_LE(UlpError(found.sin, std::sin(static_cast<long double>(angle))), 0.5001L) << angle;
  EXPECT_LE(UlpError(found.cos, std::cos(static_cast<long double>(angle))), 0.5001L) << angle;
}

TEST(SinCos, AnglesOfPositionsAreRoundedToNearest) {
  for (const uint32_t position : {0U, 1U, 3U, 131072U, 1048575U, 2147483647U}) {
    for (const float theta : {1e4F, 1e6F, 8e6F}) {
      for (uint32_t j = 0; j < 32; ++j) {
        ExpectNearestTo(static_cast<float>(position) * RopeInverseFrequency(theta, j, 64));
      }
    }
  }
}

TEST(SinCos, RandomAnglesOfAllSizesAreRoundedToNearest) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-30, 31);
  for (int i = 0; i < 20000; ++i) {
    const float angle = std::exp2(exponent(random));
    ExpectNearestTo(i % 2 == 0 ? angle : -angle);
  }
}

// Floats nearest to a multiple of pi / 2, where cancellation is worst.
TEST(SinCos, AnglesNextToMultiplesOfHalfPi) {
  constexpr long double kHalfPi = 1.57079632679489661923L;
  for (uint64_t quadrant = 1; quadrant < (uint64_t{1} << 30); quadrant = quadrant * 5 / 4 + 1) {
    const auto angle = static_cast<float>(static_cast<long double>(quadrant) * kHalfPi);
    ExpectNearestTo(angle);
    ExpectNearestTo(std::nextafter(angle, 0.0F));
  }
}

TEST(SinCos, SignsAndZero) {
  EXPECT_EQ(SinCos(0).sin, 0.0F);
  EXPECT_EQ(SinCos(0).cos, 1.0F);
  EXPECT_EQ(SinCos(-3).sin, -SinCos(3).sin);
  EXPECT_EQ(SinCos(-3).cos, SinCos(3).cos);
}

TEST(RopeInverseFrequency, EveryStepIsRoundedToF32) {
  EXPECT_EQ(RopeInverseFrequency(1e4F, 0, 64), 1.0F);
  EXPECT_EQ(RopeInverseFrequency(1e4F, 1, 4), 1.0F / 100.0F);
  EXPECT_EQ(RopeInverseFrequency(8e6F, 16, 64), 1.0F / std::sqrt(8e6F));
  for (uint32_t j = 0; j < 32; ++j) {
    const float exponent = static_cast<float>(2 * j) / 64.0F;
    const auto power = static_cast<float>(std::pow(8e6L, static_cast<long double>(exponent)));
    EXPECT_EQ(RopeInverseFrequency(8e6F, j, 64), 1.0F / power) << j;
  }
}

TEST(RotatePairs, GoldenValues) {
  float cos[2];
  float sin[2];
  for (uint32_t j = 0; j < 2; ++j) {
    const SinCosPair pair = SinCos(3.0F * RopeInverseFrequency(1e4F, j, 4));
    cos[j] = pair.cos;
    sin[j] = pair.sin;
  }
  for (const KernelTable* table : AvailableKernels()) {
    float v[] = {1, 2, 3, 4};
    table->vector.rotate_pairs(cos, sin, v, 2);
    EXPECT_NEAR(v[0], -1.272233F, 1e-6F);
    EXPECT_NEAR(v[1], -1.838865F, 1e-6F);
    EXPECT_NEAR(v[2], 2.878668F, 1e-6F);
    EXPECT_NEAR(v[3], 4.088187F, 1e-6F);
  }
}

}  // namespace
}  // namespace coli
