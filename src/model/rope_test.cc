#include "model/rope.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace coli {
namespace {

struct Rotation {
  std::vector<float> cos;
  std::vector<float> sin;
};

Rotation At(const RopeTable& table, uint32_t position) {
  Rotation rotation{std::vector<float>(table.pairs()), std::vector<float>(table.pairs())};
  table.Angles(position, rotation.cos.data(), rotation.sin.data());
  return rotation;
}

TEST(RopeTable, RotatesTheGoldenVector) {
  const Rotation r = At(RopeTable(10000, 4), 3);
  const std::array v = {1.0F, 2.0F, 3.0F, 4.0F};

  // Interleaved pairs, as apply_rotary_pos_emb_interleave of transformers turns them.
  EXPECT_NEAR(v[0] * r.cos[0] - v[1] * r.sin[0], -1.272233, 1e-6);
  EXPECT_NEAR(v[0] * r.sin[0] + v[1] * r.cos[0], -1.838865, 1e-6);
  EXPECT_NEAR(v[2] * r.cos[1] - v[3] * r.sin[1], 2.878668, 1e-6);
  EXPECT_NEAR(v[2] * r.sin[1] + v[3] * r.cos[1], 4.088187, 1e-6);
}

TEST(RopeTable, PositionZeroDoesNotRotate) {
  const RopeTable table(8e6F, 64);
  const Rotation r = At(table, 0);

  ASSERT_EQ(table.pairs(), 32u);
  for (size_t j = 0; j < table.pairs(); ++j) {
    EXPECT_EQ(r.cos[j], 1.0F);
    EXPECT_EQ(r.sin[j], 0.0F);
  }
}

// Sines and cosines of the f32 angles, computed with 60 decimal digits. The angle in double
// precision gives a sine that differs by 0.0002 to 0.008 in these rows.
struct Far {
  uint32_t position;
  size_t pair;
  float sin;
  float cos;
};
constexpr Far kFar[] = {
    {131072, 1, 0.964126300F, -0.265443925F},  {131072, 5, -0.936890982F, -0.349621636F},
    {1000000, 1, -0.990726072F, 0.135874390F}, {1000000, 5, 0.401161501F, -0.916007342F},
    {1048575, 1, 0.998919923F, 0.046464907F},  {1048575, 5, -0.197019962F, -0.980399477F},
};

TEST(RopeTable, AnglesAtLargePositionsAreRoundedToF32) {
  const RopeTable table(8e6F, 64);

  for (const Far& far : kFar) {
    const Rotation r = At(table, far.position);
    EXPECT_NEAR(r.sin[far.pair], far.sin, 2e-7) << far.position << ' ' << far.pair;
    EXPECT_NEAR(r.cos[far.pair], far.cos, 2e-7) << far.position << ' ' << far.pair;
  }
}

TEST(RopeTable, AnglesInDoublePrecisionWouldFail) {
  for (const Far& far : kFar) {
    const double angle = far.position * std::pow(8e6, -2.0 * static_cast<double>(far.pair) / 64);
    EXPECT_GT(std::abs(std::sin(angle) - double{far.sin}), 1e-4);
  }
}

}  // namespace
}  // namespace coli
