#include "engine/hit_watch.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "engine/scheduler.h"
#include "engine/testing/golden.h"

namespace coli {
namespace {

constexpr uint64_t kGb = 1'000'000'000;

// A machine whose script says how fast it is: a token reads 5 GB of experts in memory and 9 GB of
// other weights.
class HitWatchTest : public ::testing::Test {
 protected:
  // Tokens at so many GB/s; how often hits were found slow.
  int Decode(int tokens, double resident, double other) {
    int verdicts = 0;
    for (int i = 0; i < tokens; ++i) {
      work_.resident_bytes += 5 * kGb;
      work_.resident_s += 5 / resident;
      work_.other_bytes += 9 * kGb;
      work_.other_s += 9 / other;
      verdicts += watch_.Look(work_) ? 1 : 0;
    }
    return verdicts;
  }

  DecodeWork work_;
  HitWatch watch_;
};

TEST_F(HitWatchTest, SteadySpeedIsNeverSlow) { EXPECT_EQ(Decode(1000, 12, 10), 0); }

TEST_F(HitWatchTest, SlowHitsAreNoticedWithinSeconds) {
  Decode(20, 12, 10);
  EXPECT_EQ(Decode(2, 3, 10), 0);  // a moment is not enough
  EXPECT_EQ(Decode(1, 3, 10), 1);
  EXPECT_EQ(Decode(100, 12, 10), 0);  // a smaller cache has helped
  EXPECT_EQ(Decode(3, 3, 10), 1);
}

TEST_F(HitWatchTest, ABusyNeighbourSlowsEverythingAndIsNotMemory) {
  Decode(20, 12, 10);
  EXPECT_EQ(Decode(100, 3, 2.5), 0);
}

// Long contexts make other work slower for each byte, and new conversations fast again.
TEST_F(HitWatchTest, OtherWorkThatBecomesFasterDoesNotMakeHitsSlow) {
  Decode(20, 12, 3);
  EXPECT_EQ(Decode(100, 11, 10), 0);
}

TEST_F(HitWatchTest, OutliersWhileTheNormIsLearnedDoNotSpoilIt) {
  for (const double resident : {12.0, 1.0, 12.0, 300.0, 11.0, 12.0, 0.5, 12.0}) {
    Decode(1, resident, 10);
  }
  EXPECT_EQ(Decode(100, 9, 10), 0);
  EXPECT_EQ(Decode(3, 3, 10), 1);
}

// Speeds that vary by half and more around their mean, independently.
TEST_F(HitWatchTest, NoiseIsNotSlow) {
  for (int i = 0; i < 2000; ++i) {
    const double resident = 9 + 4 * std::sin(i * 1.7);
    const double other = 8 + 3 * std::cos(i * 2.3);
    ASSERT_EQ(Decode(1, resident, other), 0) << i;
  }
}

TEST_F(HitWatchTest, WhatASmallerCacheDoesNotHelpIsTheNewNorm) {
  Decode(20, 12, 10);
  EXPECT_EQ(Decode(1000, 3, 10), 2);
  EXPECT_EQ(Decode(3, 1, 10), 1);
}

TEST_F(HitWatchTest, FewBytesAreNotJudged) {
  Decode(20, 12, 10);
  for (int i = 0; i < 10'000; ++i) {  // slow, but there is hardly anything
    work_.resident_bytes += 1000;
    work_.resident_s += 1;
    work_.other_bytes += 1;
    work_.other_s += 1;
    ASSERT_FALSE(watch_.Look(work_));
  }
}

// --- what it is fed with ---

uint64_t CodesOf(const FfnView& w) {
  uint64_t bytes = 0;
  for (const WeightView* matrix : {&w.gate, &w.up, &w.down}) {
    bytes += CodeBytes(matrix->format, matrix->rows, matrix->cols).value();
  }
  return bytes;
}

uint64_t CodesOfExpert(const LoadedModel& model, uint32_t layer) {
  const uint32_t inner = model.config().expert_intermediate_size;
  const uint32_t hidden = model.config().hidden_size;
  const std::string name = fmt::format("model.layers.{}.mlp.experts.0.", layer);
  const Container& files = model.container();
  return files.FindMatrix(name + "gate_proj.weight", inner, hidden)->codes.bytes +
         files.FindMatrix(name + "up_proj.weight", inner, hidden)->codes.bytes +
         files.FindMatrix(name + "down_proj.weight", hidden, inner)->codes.bytes;
}

// Answers one request and gives the work of decoding so far.
DecodeWork Answer(Scheduler& scheduler, uint32_t tokens) {
  GenerationRequest request;
  request.prompt = testing::Tokens(8);
  request.max_tokens = tokens;
  request.ignore_end_of_sequence = true;
  scheduler.Enqueue(
      std::make_unique<Sequence>(std::move(request), std::make_shared<TokenStream>()));
  while (scheduler.Step()) {
  }
  return scheduler.decode_work();
}

TEST(DecodeWork, CountsTheExpertsThatWereInMemory) {
  const auto model = testing::LoadGolden(testing::GoldenOptions("t0"));
  ASSERT_NE(model, nullptr);
  uint64_t per_step = 0;
  for (uint32_t layer = 0; layer < model->config().num_layers(); ++layer) {
    if (const auto& moe = model->weights().layers[layer].moe) {
      per_step += model->config().router.experts_per_token * CodesOfExpert(*model, layer) +
                  (moe->shared ? CodesOf(*moe->shared) : 0);
    }
  }
  ASSERT_GT(per_step, 0U);
  Scheduler scheduler(*model);
  constexpr uint32_t kTokens = 12;  // of which the first comes with the prompt

  const DecodeWork first = Answer(scheduler, kTokens);
  const DecodeWork again = Answer(scheduler, kTokens) - first;  // nothing is missing any more

  EXPECT_LE(first.resident_bytes, (kTokens - 1) * per_step);
  EXPECT_EQ(again.resident_bytes, (kTokens - 1) * per_step);
  EXPECT_GT(again.resident_s, 0);
  EXPECT_GT(again.other_s, 0);
  EXPECT_GT(again.other_bytes, 0U);
}

TEST(DecodeWork, ExpertsThatHadToBeReadDoNotCount) {
  EngineOptions options = testing::GoldenOptions("t0");
  options.cache_experts = 1;
  const auto model = testing::LoadGolden(options);
  ASSERT_NE(model, nullptr);
  Scheduler scheduler(*model);

  const DecodeWork work = Answer(scheduler, 12);

  const uint64_t hits = model->experts().stats().hits;
  uint64_t most = 0;
  for (uint32_t layer = 0; layer < model->config().num_layers(); ++layer) {
    if (const auto& moe = model->weights().layers[layer].moe) {
      most =
          std::max(most, CodesOfExpert(*model, layer) + (moe->shared ? CodesOf(*moe->shared) : 0));
    }
  }
  EXPECT_LE(work.resident_bytes, hits * most);
}

}  // namespace
}  // namespace coli
