#include <gtest/gtest.h>

#include <array>

#include "store/cache_policy.h"

namespace coli {
namespace {

ExpertKey Key(int layer, int expert) { return {LayerId{layer}, ExpertId{expert}}; }

constexpr std::array<float, 3> kScores{};

TEST(LfuPolicy, TheLeastFrequentlyUsedGoesFirst) {
  const auto lfu = MakeLfuPolicy();
  lfu->Prepare(std::array<size_t, 2>{3, 3});
  for (const ExpertKey key : {Key(0, 0), Key(0, 0), Key(1, 1), Key(0, 2), Key(1, 1)}) {
    lfu->OnUse(key);
  }
  for (const ExpertKey key : {Key(0, 0), Key(0, 2), Key(1, 1)}) {
    lfu->OnInsert(key);
  }

  EXPECT_EQ(lfu->Victim([](ExpertKey) { return false; }), Key(0, 2));
}

TEST(LfuPolicy, AUseCountsForLessWithEveryTokenOfItsLayer) {
  const auto lfu = MakeLfuPolicy({.decay = 0.5});
  lfu->Prepare(std::array<size_t, 2>{3, 3});
  lfu->OnUse(Key(0, 0));
  lfu->OnUse(Key(1, 0));
  lfu->OnRoute(LayerId{1}, kScores);
  lfu->OnUse(Key(1, 0));

  EXPECT_FLOAT_EQ(static_cast<float>(lfu->Worth(Key(0, 0))), 1.0F);
  EXPECT_FLOAT_EQ(static_cast<float>(lfu->Worth(Key(1, 0))), 1.5F);
}

}  // namespace
}  // namespace coli
