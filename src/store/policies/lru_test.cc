#include <gtest/gtest.h>

#include <optional>

#include "store/cache_policy.h"

namespace coli {
namespace {

ExpertKey Key(int layer, int expert) { return {LayerId{layer}, ExpertId{expert}}; }

bool Never(ExpertKey) { return false; }

TEST(LruPolicy, TheLeastRecentlyUsedGoesFirst) {
  const auto lru = MakeLruPolicy();
  lru->OnInsert(Key(0, 1));
  lru->OnInsert(Key(0, 2));
  lru->OnInsert(Key(1, 1));
  EXPECT_EQ(lru->Victim(Never), Key(0, 1));

  lru->OnUse(Key(0, 1));
  EXPECT_EQ(lru->Victim(Never), Key(0, 2));

  lru->OnRemove(Key(0, 2));
  EXPECT_EQ(lru->Victim(Never), Key(1, 1));
}

TEST(LruPolicy, PinnedExpertsAreSkipped) {
  const auto lru = MakeLruPolicy();
  lru->OnInsert(Key(0, 1));
  lru->OnInsert(Key(0, 2));

  EXPECT_EQ(lru->Victim([](ExpertKey key) { return key == Key(0, 1); }), Key(0, 2));
  EXPECT_EQ(lru->Victim([](ExpertKey) { return true; }), std::nullopt);
}

TEST(LruPolicy, NobodyIsNobodysVictim) {
  const auto lru = MakeLruPolicy();
  EXPECT_EQ(lru->Victim(Never), std::nullopt);
  lru->OnInsert(Key(3, 255));
  lru->OnRemove(Key(3, 255));
  EXPECT_EQ(lru->Victim(Never), std::nullopt);
}

}  // namespace
}  // namespace coli
