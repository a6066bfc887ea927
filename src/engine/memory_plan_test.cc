#include "engine/memory_plan.h"

#include <gtest/gtest.h>

#include "engine/testing/golden.h"
#include "model/kv_cache.h"

namespace coli {
namespace {

constexpr uint64_t kMb = 1000000;

ModelConfig Config() { return *LoadModelConfig(testing::GoldenPath("t0")); }

PlanInputs Inputs() {
  PlanInputs inputs;
  inputs.dense_bytes = 100 * kMb;
  inputs.expert_bytes = 1000 * kMb;
  inputs.largest_expert_bytes = 2 * kMb;
  inputs.available_bytes = 8000 * kMb;
  return inputs;
}

EngineOptions Budget(uint64_t bytes) {
  EngineOptions options;
  options.ram_bytes = bytes;
  options.context = 64;
  return options;
}

TEST(MemoryPlan, StaysWithinTheBudgetAndUsesItForExperts) {
  const auto plan = PlanMemory(Config(), Inputs(), Budget(500 * kMb));

  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_LE(plan->total(), 500 * kMb);
  EXPECT_GE(plan->total(), 500 * kMb - 2 * kMb);
}

TEST(MemoryPlan, RoomToConvertExpertsComesOutOfTheBudget) {
  PlanInputs inputs = Inputs();
  inputs.largest_staging_bytes = 30 * kMb;
  const auto without = PlanMemory(Config(), Inputs(), Budget(500 * kMb));
  const auto with = PlanMemory(Config(), inputs, Budget(500 * kMb));

  ASSERT_TRUE(without.has_value() && with.has_value());
  EXPECT_EQ(without->staging_bytes, 0U);
  EXPECT_GE(with->staging_bytes, 30 * kMb);
  EXPECT_EQ(with->expert_cache_bytes, without->expert_cache_bytes - with->staging_bytes);
  EXPECT_LE(with->total(), 500 * kMb);
}

// A batch and half as many guesses; nothing where every expert has its place.
TEST(MemoryPlan, ResidentsLeaveRoomForExpertsOnTheirWay) {
  const auto few = PlanMemory(Config(), Inputs(), Budget(500 * kMb));
  const auto all = PlanMemory(Config(), Inputs(), Budget(20000 * kMb));

  ASSERT_TRUE(few.has_value() && all.has_value());
  const size_t batch = DecodeExperts(Config(), few->sequences);
  EXPECT_EQ(few->reads_bytes, (batch + batch / 2) * 2 * kMb);
  EXPECT_EQ(few->resident_bytes(), few->expert_cache_bytes - few->reads_bytes);
  EXPECT_EQ(all->reads_bytes, 0U);
}

TEST(MemoryPlan, WhatIsLearnedAboutExpertsComesOutOfTheBudget) {
  PlanInputs inputs = Inputs();
  inputs.policy_bytes = 40 * kMb;
  const auto without = PlanMemory(Config(), Inputs(), Budget(500 * kMb));
  const auto with = PlanMemory(Config(), inputs, Budget(500 * kMb));

  ASSERT_TRUE(without.has_value() && with.has_value());
  EXPECT_EQ(with->expert_cache_bytes, without->expert_cache_bytes - 40 * kMb);
  EXPECT_LE(with->total(), 500 * kMb);
}

// 75 layers of GLM-5.2: two matrices of 256 x 256 floats each, and little else.
TEST(MemoryPlan, TheForecastOfALargeModelIsCounted) {
  const std::vector<size_t> glm(75, 256);
  EXPECT_GE(PolicyBytes("score", glm), 75 * 2 * 256 * 256 * 4);
  EXPECT_LE(PolicyBytes("score", glm), 42 * kMb);
  EXPECT_LE(PolicyBytes("lru", glm), 2 * kMb);
  EXPECT_EQ(PolicyBytes("none", glm), 0U);
}

TEST(MemoryPlan, NeverPlansMoreThanAllExperts) {
  const auto plan = PlanMemory(Config(), Inputs(), Budget(20000 * kMb));

  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->expert_cache_bytes, 1000 * kMb);
}

TEST(MemoryPlan, NeverPlansMoreThanTheExpertsTheUserAllows) {
  EngineOptions options = Budget(20000 * kMb);
  options.cache_experts = 3;

  EXPECT_EQ(PlanMemory(Config(), Inputs(), options)->expert_cache_bytes, 6 * kMb);
}

TEST(MemoryPlan, LeavesPartOfTheMachineAloneWhenNoBudgetIsNamed) {
  PlanInputs inputs = Inputs();
  inputs.expert_bytes = 100000 * kMb;

  const auto plan = PlanMemory(Config(), inputs, Budget(0));

  ASSERT_TRUE(plan.has_value());
  EXPECT_LE(plan->total(), inputs.available_bytes - inputs.available_bytes / 10);
}

TEST(MemoryPlan, ALongSliceTakesAtMostAnEighthOfTheRoomForExperts) {
  const auto named = [](uint64_t budget, uint32_t rows) {
    EngineOptions options = Budget(budget);
    options.max_sequences = kLongestSlice / options.context;
    options.prefill_chunk = rows;
    return PlanMemory(Config(), Inputs(), options);
  };
  constexpr uint32_t kChosen = 0;
  for (const uint64_t budget : {180 * kMb, 200 * kMb, 220 * kMb, 300 * kMb, 20000 * kMb}) {
    const auto plan = named(budget, kChosen);
    const auto shortest = named(budget, kShortestSlice);
    ASSERT_TRUE(plan.has_value() && shortest.has_value()) << budget;
    const uint64_t least = shortest->program_bytes + shortest->dense_bytes +
                           shortest->kv_bytes_per_sequence + shortest->scratch_bytes +
                           shortest->staging_bytes + Inputs().largest_expert_bytes;
    const uint64_t room = budget - least;
    const auto growth = [&](uint32_t rows) {
      return named(budget, rows)->scratch_bytes - shortest->scratch_bytes;
    };

    EXPECT_LE(plan->total(), budget);
    EXPECT_LE(growth(plan->prefill_rows), room / 8) << budget;
    EXPECT_TRUE(plan->prefill_rows == kLongestSlice || growth(2 * plan->prefill_rows) > room / 8)
        << budget << ": " << plan->prefill_rows;
  }
  EXPECT_LT(named(180 * kMb, kChosen)->prefill_rows, kLongestSlice);
  EXPECT_EQ(named(20000 * kMb, kChosen)->prefill_rows, kLongestSlice);
}

TEST(MemoryPlan, ASliceIsNoLongerThanAllContextsTogether) {
  EngineOptions options = Budget(20000 * kMb);
  options.context = 200;
  options.max_sequences = 2;

  EXPECT_EQ(PlanMemory(Config(), Inputs(), options)->prefill_rows, 512U);
}

TEST(MemoryPlan, ASliceThatTheUserNamesIsTaken) {
  EngineOptions options = Budget(500 * kMb);
  options.prefill_chunk = 7;

  EXPECT_EQ(PlanMemory(Config(), Inputs(), options)->prefill_rows, 7U);
}

TEST(MemoryPlan, TooSmallABudgetIsAnErrorThatSaysWhatWouldDo) {
  const auto plan = PlanMemory(Config(), Inputs(), Budget(50 * kMb));

  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kNotEnoughMemory);
  EXPECT_NE(plan.error().message.find("at least"), std::string::npos) << plan.error().message;
}

TEST(MemoryPlan, TheReserveIsATenthButSomeMemoryAndNeverMost) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  EXPECT_EQ(ReservedBytes(100 * kGib), 10 * kGib);
  EXPECT_EQ(ReservedBytes(4 * kGib), kGib / 2);
  EXPECT_EQ(ReservedBytes(kGib), kGib / 4);
  EXPECT_EQ(ReservedBytes(0), 0U);
}

TEST(MemoryPlan, TheLeastPlanFitsExactlyTheBudgetThatItNames) {
  const auto least = LeastPlan(Config(), Inputs(), Budget(50 * kMb));
  ASSERT_TRUE(least.has_value());

  EXPECT_FALSE(PlanMemory(Config(), Inputs(), Budget(least->total() - 1)).has_value());
  const auto plan = PlanMemory(Config(), Inputs(), Budget(least->total()));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->total(), least->total());
}

TEST(MemoryPlan, TheContextThatFitsIsTheLargestPowerOfTwoThatDoes) {
  EngineOptions options = Budget(0);
  options.context = 200;
  const auto total = [&](uint32_t context) {
    EngineOptions shorter = options;
    shorter.context = context;
    return LeastPlan(Config(), Inputs(), shorter)->total();
  };
  ASSERT_LT(total(64), total(128));

  options.ram_bytes = total(128) - 1;
  EXPECT_EQ(ContextThatFits(Config(), Inputs(), options), 64U);
  options.ram_bytes = total(128);
  EXPECT_EQ(ContextThatFits(Config(), Inputs(), options), 128U);
  options.ram_bytes = 1;
  EXPECT_EQ(ContextThatFits(Config(), Inputs(), options), 0U);
}

TEST(MemoryPlan, TheDirectoryOfManyTensorsIsCounted) {
  PlanInputs inputs = Inputs();
  const uint64_t few = LeastPlan(Config(), inputs, Budget(0))->program_bytes;
  inputs.tensors = 120'000;

  EXPECT_GE(LeastPlan(Config(), inputs, Budget(0))->program_bytes, few + 120'000 * 256);
}

TEST(MemoryPlan, MoreSequencesOnlyWhenATokensExpertsStillFit) {
  EngineOptions options = Budget(0);
  options.max_sequences = 4;
  const uint64_t kv = KvCache::Bytes(Config(), {.capacity = 64});
  PlanInputs inputs = Inputs();
  options.ram_bytes = PlanMemory(Config(), inputs, Budget(20000 * kMb))->total() -
                      inputs.expert_bytes + inputs.largest_expert_bytes +
                      4 * kv;  // one sequence, one expert and a little

  EXPECT_EQ(PlanMemory(Config(), inputs, options)->sequences, 1U);
  options.ram_bytes = 5000 * kMb;
  EXPECT_EQ(PlanMemory(Config(), inputs, options)->sequences, 4U);
}

TEST(MemoryPlan, ABf16CacheIsHalfAsLarge) {
  EngineOptions options = Budget(500 * kMb);
  const auto f32 = PlanMemory(Config(), Inputs(), options);
  options.kv = FormatId::kBf16;
  const auto bf16 = PlanMemory(Config(), Inputs(), options);

  ASSERT_TRUE(f32.has_value() && bf16.has_value());
  EXPECT_EQ(bf16->kv_format, FormatId::kBf16);
  EXPECT_EQ(bf16->kv_bytes_per_sequence * 2, f32->kv_bytes_per_sequence);
  EXPECT_EQ(bf16->expert_cache_bytes, f32->expert_cache_bytes + bf16->kv_bytes_per_sequence);
}

TEST(MemoryPlan, AContextBeyondTheModelIsRefused) {
  EngineOptions options = Budget(0);
  options.context = Config().max_positions + 1;

  const auto plan = PlanMemory(Config(), Inputs(), options);

  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace coli
