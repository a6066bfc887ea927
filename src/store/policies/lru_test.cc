#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "store/cache_policy.h"

namespace coli {
namespace {

ExpertKey Key(int layer, int expert) { return {LayerId{layer}, ExpertId{expert}}; }

constexpr auto kNever = [](ExpertKey) { return false; };

std::unique_ptr<CachePolicy> MakeLru() {
  auto lru = MakeLruPolicy();
  lru->Prepare(std::array<size_t, 4>{3, 2, 0, 256});
  return lru;
}

TEST(LruPolicy, TheLeastRecentlyUsedGoesFirst) {
  const auto lru = MakeLru();
  lru->OnInsert(Key(0, 1));
  lru->OnInsert(Key(0, 2));
  lru->OnInsert(Key(1, 1));
  EXPECT_EQ(lru->Victim(kNever), Key(0, 1));

  lru->OnUse(Key(0, 1));
  EXPECT_EQ(lru->Victim(kNever), Key(0, 2));

  lru->OnRemove(Key(0, 2));
  EXPECT_EQ(lru->Victim(kNever), Key(1, 1));
}

TEST(LruPolicy, PinnedExpertsAreSkipped) {
  const auto lru = MakeLru();
  lru->OnInsert(Key(0, 1));
  lru->OnInsert(Key(0, 2));

  EXPECT_EQ(lru->Victim([](ExpertKey key) { return key == Key(0, 1); }), Key(0, 2));
  EXPECT_EQ(lru->Victim([](ExpertKey) { return true; }), std::nullopt);
}

TEST(LruPolicy, NobodyIsNobodysVictim) {
  const auto lru = MakeLru();
  EXPECT_EQ(lru->Victim(kNever), std::nullopt);
  lru->OnInsert(Key(3, 255));
  lru->OnRemove(Key(3, 255));
  EXPECT_EQ(lru->Victim(kNever), std::nullopt);
}

TEST(LruPolicy, WhatWasAskedForLastIsWorthMostAlsoWhileItIsNotResident) {
  const auto lru = MakeLru();
  lru->OnInsert(Key(0, 1));
  lru->OnUse(Key(1, 0));

  EXPECT_GT(lru->Worth(Key(1, 0)), lru->Worth(Key(0, 1)));
  EXPECT_LT(lru->Worth(Key(3, 9)), lru->Worth(Key(0, 1)));
}

}  // namespace
}  // namespace coli
