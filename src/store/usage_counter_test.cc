#include "store/usage_counter.h"

#include <gtest/gtest.h>

#include <array>

namespace coli {
namespace {

constexpr std::array<size_t, 2> kShape = {0, 3};
constexpr LayerId kLayer{1};

ExpertKey Key(int expert) { return {kLayer, ExpertId{expert}}; }

// Routes `tokens` tokens that the router would send to `expert`.
void Route(UsageCounter& counter, int expert, uint32_t tokens) {
  std::array<float, 3> scores = {0, 0, 0};
  scores[static_cast<size_t>(expert)] = 1;
  for (uint32_t token = 0; token < tokens; ++token) {
    counter.OnRoute(kLayer, scores);
  }
}

TEST(UsageCounter, CountsUsesAndAveragesWorth) {
  UsageCounter counter(MakeScorePolicy());
  counter.Prepare(kShape);
  counter.OnUse(Key(0));
  counter.OnUse(Key(0));
  counter.OnUse(Key(2));
  Route(counter, 2, UsageCounter::kTokensPerSample);
  const double first = counter.Worth(Key(2));
  Route(counter, 2, UsageCounter::kTokensPerSample);
  const double second = counter.Worth(Key(2));

  const UsageTable work = counter.Work();

  ASSERT_EQ(work.size(), 2U);
  EXPECT_TRUE(work[0].empty());
  EXPECT_EQ(work[1][0].uses, 2U);
  EXPECT_EQ(work[1][1].uses, 0U);
  EXPECT_EQ(work[1][2].uses, 1U);
  EXPECT_DOUBLE_EQ(work[1][2].score, (first + second) / 2);
  EXPECT_GT(work[1][2].score, work[1][0].score);
  EXPECT_EQ(counter.experts_by_layer(), std::vector<size_t>(kShape.begin(), kShape.end()));
}

TEST(UsageCounter, ForgetsWorkButNotWorth) {
  UsageCounter counter(MakeScorePolicy());
  counter.Prepare(kShape);
  counter.OnUse(Key(1));
  Route(counter, 1, UsageCounter::kTokensPerSample);
  const double worth = counter.Worth(Key(1));

  counter.Forget();

  EXPECT_EQ(counter.Work(), EmptyUsage(kShape));
  EXPECT_EQ(counter.Worth(Key(1)), worth);
}

TEST(UsageCounter, DecidesAsThePolicyInIt) {
  UsageCounter counter(MakeLruPolicy());
  const auto policy = MakeLruPolicy();
  for (CachePolicy* each : {static_cast<CachePolicy*>(&counter), policy.get()}) {
    each->Prepare(kShape);
    for (const int expert : {0, 1, 2, 0}) {
      each->OnUse(Key(expert));
    }
    for (const int expert : {0, 1, 2}) {
      each->OnInsert(Key(expert));
    }
    each->OnRemove(Key(1));
  }
  const auto none = [](ExpertKey) { return false; };
  EXPECT_EQ(counter.Victim(none), policy->Victim(none));
  EXPECT_EQ(counter.name(), policy->name());
}

}  // namespace
}  // namespace coli
