#include "tools/cache_sim/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tools/cache_sim/synthetic.h"

namespace coli::cache_sim {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kBytes = 10;  // of an expert

RoutingTraceHeader Header(uint32_t layers, uint32_t experts, uint32_t chosen) {
  return {.layers = std::vector<RoutingTraceHeader::Layer>(layers, {experts, kBytes}),
          .experts_per_token = chosen};
}

void Route(RoutingTrace& trace, int layer, bool begins_step, std::vector<int> chosen) {
  std::vector<RankedExpert> ranked;
  for (const int expert : chosen) {
    ranked.push_back({ExpertId{expert}, 0.5F, true});
  }
  trace.Append({LayerId{layer}, begins_step, ranked});
}

// The most hits that any sequence of decisions could have: tries all of them.
size_t MostHits(const std::vector<int>& uses, size_t at, std::vector<int> residents,
                size_t places) {
  if (at == uses.size()) {
    return 0;
  }
  const int expert = uses[at];
  if (std::ranges::find(residents, expert) != residents.end()) {
    return 1 + MostHits(uses, at + 1, residents, places);
  }
  size_t best = MostHits(uses, at + 1, residents, places);
  if (residents.size() < places) {
    residents.push_back(expert);
    return std::max(best, MostHits(uses, at + 1, residents, places));
  }
  for (size_t i = 0; i < residents.size(); ++i) {
    std::vector<int> other = residents;
    other[i] = expert;
    best = std::max(best, MostHits(uses, at + 1, other, places));
  }
  return best;
}

TEST(ReplayBelady, NoSequenceOfDecisionsHitsMore) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    RoutingTrace trace(Header(1, 5, 1));
    std::vector<int> uses;
    for (int i = 0; i < 9; ++i) {
      uses.push_back(static_cast<int>(random() % 5));
      Route(trace, 0, true, {uses.back()});
    }
    for (const size_t places : {1U, 2U, 3U}) {
      const HitCount count =
          ReplayBelady(trace, MakeBatches(trace, Grouping::kRows), places * kBytes, {.warm_up = 0});
      ASSERT_EQ(count.hits, MostHits(uses, 0, {}, places));
      ASSERT_EQ(count.requests, uses.size());
    }
  }
}

// By hand, with room for two: 1 miss, 2 miss, 1 hit, 3 replaces 2, 2 replaces 1, 3 hit.
TEST(Replay, RecencyByHand) {
  RoutingTrace trace(Header(1, 4, 1));
  for (const int expert : {1, 2, 1, 3, 2, 3}) {
    Route(trace, 0, true, {expert});
  }
  const std::vector<Batch> batches = MakeBatches(trace, Grouping::kRows);

  const HitCount all = Replay(trace, batches, 2 * kBytes, MakeLruPolicy(), {.warm_up = 0});
  EXPECT_EQ(all.hits, 2U);
  EXPECT_EQ(all.requests, 6U);

  const HitCount second_half =
      Replay(trace, batches, 2 * kBytes, MakeLruPolicy(), {.warm_up = 0.5});
  EXPECT_EQ(second_half.hits, 1U);
  EXPECT_EQ(second_half.requests, 3U);
}

TEST(Replay, WhereAllFitEverythingHitsAgain) {
  const RoutingTrace trace = MakeTrace({.layers = 3,
                                        .experts = 16,
                                        .experts_per_token = 4,
                                        .expert_bytes = kBytes,
                                        .tokens = 400,
                                        .fast_sd = 1,
                                        .fast_decay = 0.2});
  const std::vector<Batch> batches = MakeBatches(trace, Grouping::kRows);
  for (const char* name : {"lru", "lfu", "score"}) {
    const HitCount count = Replay(trace, batches, TotalBytes(trace.header()),
                                  MakeCachePolicy(name).value(), {.warm_up = 0.5});
    EXPECT_EQ(count.hits, count.requests) << name;
  }
  const HitCount belady =
      ReplayBelady(trace, batches, TotalBytes(trace.header()), {.warm_up = 0.25});
  EXPECT_EQ(belady.hits, belady.requests);
}

// A batch of many rows takes free room and sends nobody away.
TEST(Replay, ASweepLeavesTheResidents) {
  RoutingTrace trace(Header(1, 8, 1));
  Route(trace, 0, true, {0});
  Route(trace, 0, true, {1});
  for (const int expert : {2, 3, 4, 5}) {
    Route(trace, 0, expert == 2, {expert});
  }
  Route(trace, 0, true, {0});
  Route(trace, 0, true, {1});
  Route(trace, 0, true, {2});
  const std::vector<Batch> batches = MakeBatches(trace, Grouping::kSteps);

  const auto hits = [&](uint32_t longest_append) {
    return Replay(trace, batches, 3 * kBytes, MakeLruPolicy(),
                  {.warm_up = 0, .longest_append = longest_append})
        .hits;
  };

  EXPECT_EQ(hits(3), 3U);
  EXPECT_EQ(hits(4), 0U);
}

// Two layers, a step of two rows and a step of one.
TEST(MakeBatches, StepsAreUnionsAndRowsGoThroughAllLayers) {
  RoutingTrace trace(Header(2, 8, 2));
  Route(trace, 0, true, {5, 1});
  Route(trace, 0, false, {1, 2});
  Route(trace, 1, true, {0, 7});
  Route(trace, 1, false, {3, 7});
  Route(trace, 0, true, {4, 6});
  Route(trace, 1, true, {4, 6});

  const std::vector<Batch> steps = MakeBatches(trace, Grouping::kSteps);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_THAT(steps[0].experts, ElementsAre(ExpertId{1}, ExpertId{2}, ExpertId{5}));
  EXPECT_THAT(steps[0].rows, ElementsAre(0U, 1U));
  EXPECT_THAT(steps[1].experts, ElementsAre(ExpertId{0}, ExpertId{3}, ExpertId{7}));

  const std::vector<Batch> rows = MakeBatches(trace, Grouping::kRows);
  std::vector<size_t> order;
  for (const Batch& batch : rows) {
    order.insert(order.end(), batch.rows.begin(), batch.rows.end());
  }
  EXPECT_THAT(order, ElementsAre(0U, 2U, 1U, 3U, 4U, 5U));
  EXPECT_THAT(rows[0].experts, ElementsAre(ExpertId{1}, ExpertId{5}));
}

// Of the four experts of the second rows in both layers, one in layer 0 was there before.
TEST(Overlap, IsTheShareThatTheRowBeforeChose) {
  RoutingTrace trace(Header(2, 8, 2));
  Route(trace, 0, true, {1, 2});
  Route(trace, 1, true, {1, 2});
  Route(trace, 0, true, {2, 3});
  Route(trace, 1, true, {5, 6});

  EXPECT_EQ(Overlap(trace, MakeBatches(trace, Grouping::kRows)), 0.25);
}

}  // namespace
}  // namespace coli::cache_sim
