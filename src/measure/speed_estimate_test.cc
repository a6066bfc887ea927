#include "measure/speed_estimate.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

// A model whose token reads 8 GB always and 10 GB of experts.
ModelCost SomeCost() {
  return {.always_bytes = 8'000'000'000,
          .expert_bytes = 10'000'000'000,
          .read_bytes = 10e9,
          .multiply_adds = {{"int4-row", 2e9}, {"int8-row", 4e9}},
          .experts = 256,
          .experts_per_token = 8};
}

MachineSpeed SomeSpeed() {
  return {.memory_bytes = 100e9,
          .drive_bytes = 5e9,
          .multiply_adds = {{"int4-row", 100e9}, {"int8-row", 50e9}}};
}

TEST(HitRate, GrowsFromNothingToAll) {
  for (const Routing routing : {Routing::kText, Routing::kUniform}) {
    double last = -1;
    for (int percent = 0; percent <= 100; ++percent) {
      const double rate = HitRate(percent / 100.0, routing);
      EXPECT_GT(rate, last) << percent;
      last = rate;
    }
    EXPECT_DOUBLE_EQ(HitRate(0, routing), 0);
    EXPECT_DOUBLE_EQ(HitRate(1, routing), 1);
    EXPECT_DOUBLE_EQ(HitRate(1.5, routing), 1);
  }
}

TEST(HitRate, OfTextIsThatOfTheSimulationAndOfUniformRoutingTheShare) {
  EXPECT_NEAR(HitRate(11.3 / 256, Routing::kText), 0.432, 1e-9);
  EXPECT_NEAR(HitRate((11.3 + 22.6) / 2 / 256, Routing::kText), (0.432 + 0.560) / 2, 1e-9);
  EXPECT_DOUBLE_EQ(HitRate(0.25, Routing::kUniform), 0.25);
}

TEST(SpeedEstimate, EverythingInMemoryIsLimitedByReadingIt) {
  MachineSpeed speed = SomeSpeed();
  speed.drive_bytes = 0;  // not asked
  const auto estimate = EstimateSpeed(SomeCost(), speed, {.cached_share = 1});

  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->limit, SpeedLimit::kMemory);
  EXPECT_DOUBLE_EQ(estimate->slowest, estimate->fastest);
  EXPECT_LT(estimate->expected, 100.0 / 18);  // a plain read
  EXPECT_GT(estimate->expected, 0.75 * 100 / 18);
  EXPECT_FALSE(estimate->first_token_s);
}

TEST(SpeedEstimate, NothingInMemoryIsLimitedByTheDrive) {
  const auto estimate = EstimateSpeed(SomeCost(), SomeSpeed(), {.cached_share = 0});

  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->limit, SpeedLimit::kDrive);
  EXPECT_LT(estimate->slowest, estimate->expected);
  EXPECT_LT(estimate->expected, estimate->fastest);
  EXPECT_LE(estimate->fastest, 0.5);
  EXPECT_GT(estimate->fastest, 0.4);
}

TEST(SpeedEstimate, HalfTheHitsHalveTheReads) {
  MachineSpeed fast_memory = SomeSpeed();
  fast_memory.memory_bytes = 1e15;
  const auto none =
      EstimateSpeed(SomeCost(), fast_memory, {.cached_share = 0, .routing = Routing::kUniform});
  const auto half =
      EstimateSpeed(SomeCost(), fast_memory, {.cached_share = 0.5, .routing = Routing::kUniform});

  ASSERT_TRUE(none && half);
  EXPECT_NEAR(half->expected / none->expected, 2, 0.01);
}

TEST(SpeedEstimate, AnUnknownDriveGivesNoAnswerThatDependsOnIt) {
  MachineSpeed speed = SomeSpeed();
  speed.drive_bytes = 0;

  EXPECT_FALSE(EstimateSpeed(SomeCost(), speed, {.cached_share = 0.5}));
}

TEST(SpeedEstimate, TheFirstTokenOfAShortPromptWaitsForTheDriveAndOfALongOneForProducts) {
  const auto seconds = [](uint32_t tokens, double cached, uint32_t slice) {
    return *EstimateSpeed(SomeCost(), SomeSpeed(),
                          {.cached_share = cached, .prompt_tokens = tokens, .slice_rows = slice})
                ->first_token_s;
  };

  // One token's experts at 5 GB/s, a little less than the drive alone gives.
  EXPECT_GE(seconds(1, 0, 4096), 2.0);
  EXPECT_LT(seconds(1, 0, 4096), 2.5);
  // All 256 experts are 32 times the bytes of the eight of one token.
  EXPECT_NEAR(seconds(512, 0, 4096), 32 * seconds(1, 0, 4096), 1);
  // 0.1 s of products alone for each token, and a little more in a prompt: from about 600 on they
  // take longer than all reads.
  EXPECT_GT(seconds(4096, 0, 4096), 4096 * 0.1);
  EXPECT_LT(seconds(4096, 0, 4096), 4096 * 0.15);
  EXPECT_DOUBLE_EQ(seconds(4096, 0, 4096), 2 * seconds(2048, 0, 4096));
  // Short slices read everything again, but for what fits in memory.
  EXPECT_GT(seconds(1024, 0, 128), 2 * seconds(1024, 0, 1024));
  EXPECT_LT(seconds(1024, 0.9, 128), 0.5 * seconds(1024, 0, 128));
}

}  // namespace
}  // namespace coli
