#include "engine/memory_watch.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

using Reason = MemoryWatch::Reason;
constexpr uint64_t kGb = 1'000'000'000;

// A cache of 16 GB beside a reserve of 2 GB; one expert is 20 MB.
MemoryWatch Watch() {
  return MemoryWatch(
      {.least_bytes = kGb / 50, .planned_bytes = 16 * kGb, .reserve_bytes = 2 * kGb});
}

MemoryReading Available(uint64_t bytes) { return {.available_bytes = bytes, .stalled_us = 0}; }

TEST(MemoryWatch, EnoughMemoryChangesNothing) {
  MemoryWatch watch = Watch();
  for (int second = 0; second < 300; ++second) {
    EXPECT_FALSE(
        watch.Look(Available(2 * kGb + static_cast<uint64_t>(second) * 10'000'000), second));
  }
  EXPECT_EQ(watch.budget_bytes(), 16 * kGb);
}

TEST(MemoryWatch, ALittleLessThanTheReserveChangesNothing) {
  MemoryWatch watch = Watch();
  for (int second = 0; second < 300; ++second) {
    EXPECT_FALSE(watch.Look(Available(kGb + 1), second));
  }
}

TEST(MemoryWatch, ANeighbourGetsItsMemoryWithinASecond) {
  MemoryWatch watch = Watch();
  watch.Look(Available(2 * kGb), 0);

  const auto change = watch.Look(Available(kGb / 2), 1);

  ASSERT_TRUE(change);
  EXPECT_EQ(change->reason, Reason::kShort);
  EXPECT_EQ(change->budget_bytes, 16 * kGb - (2 * kGb - kGb / 2));  // the reserve is whole again
}

TEST(MemoryWatch, StallsCountOnlyWhileTheReserveIsTouched) {
  MemoryWatch watch = Watch();
  const auto stalled = [](uint64_t available, uint64_t us) {
    return MemoryReading{.available_bytes = available, .stalled_us = us};
  };
  watch.Look(stalled(3 * kGb, 0), 0);

  EXPECT_FALSE(watch.Look(stalled(3 * kGb, 900'000), 1));
  EXPECT_FALSE(watch.Look(stalled(2 * kGb - 1, 950'000), 2));  // a twentieth of the time
  const auto change = watch.Look(stalled(2 * kGb - kGb / 10, 1'450'000), 3);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->budget_bytes, 16 * kGb - kGb / 10);
}

TEST(MemoryWatch, SwappedPagesShrinkTheCacheByMoreThanTheyAre) {
  MemoryWatch watch = Watch();
  MemoryReading reading = Available(4 * kGb);
  reading.swapped_bytes = 7 * kGb;  // from before: what was swapped then is nobody's business
  EXPECT_FALSE(watch.Look(reading, 0));
  EXPECT_FALSE(watch.Look(reading, 1));

  reading.swapped_bytes += 3 * kGb;
  const auto change = watch.Look(reading, 2);

  ASSERT_TRUE(change);
  EXPECT_EQ(change->reason, Reason::kSwapped);
  EXPECT_EQ(change->budget_bytes, 10 * kGb);
}

TEST(MemoryWatch, ManyMajorFaultsShrinkTheCacheAndAFewDoNot) {
  MemoryWatch watch = Watch();
  MemoryReading reading = Available(4 * kGb);
  watch.Look(reading, 0);
  reading.major_faults = 100;
  EXPECT_FALSE(watch.Look(reading, 1));

  reading.major_faults += 2000;
  const auto change = watch.Look(reading, 2);

  ASSERT_TRUE(change);
  EXPECT_EQ(change->reason, Reason::kFaults);
  EXPECT_EQ(change->budget_bytes, 14 * kGb);
}

TEST(MemoryWatch, SlowHitsShrinkTheCache) {
  MemoryWatch watch = Watch();
  watch.Look(Available(4 * kGb), 0);

  const auto change = watch.Look(Available(4 * kGb), 1, /*slow_hits=*/true);

  ASSERT_TRUE(change);
  EXPECT_EQ(change->reason, Reason::kSlowHits);
  EXPECT_EQ(change->budget_bytes, 14 * kGb);
}

TEST(MemoryWatch, NeverBelowTheLeast) {
  MemoryWatch watch = Watch();
  watch.Look(Available(2 * kGb), 0);
  std::optional<MemoryWatch::Change> change;
  for (int second = 1; second < 100; ++second) {
    if (const auto next = watch.Look(Available(1), second)) {
      change = next;
    }
  }

  ASSERT_TRUE(change);
  EXPECT_EQ(change->budget_bytes, kGb / 50);
  EXPECT_FALSE(watch.Look(Available(1), 200));  // nothing is left to give
}

TEST(MemoryWatch, GrowsBackSlowlyAndToThePlanAtMost) {
  MemoryWatch watch = Watch();
  watch.Look(Available(2 * kGb), 0);
  ASSERT_TRUE(watch.Look(Available(1), 1));
  ASSERT_EQ(watch.budget_bytes(), 14 * kGb + 1);

  int changes = 0;
  uint64_t available = 6 * kGb;
  for (int second = 2; second < 400; ++second) {
    const uint64_t before = watch.budget_bytes();
    if (const auto change = watch.Look(Available(available), second)) {
      EXPECT_EQ(change->reason, Reason::kCalm);
      EXPECT_GE(second, MemoryWatch::kCalmS);
      available -= change->budget_bytes - before;
      ++changes;
    }
  }
  EXPECT_GE(changes, 1);
  EXPECT_EQ(watch.budget_bytes(), 16 * kGb);
  EXPECT_GE(available, 2 * kGb);
}

// Memory that the cache gives back becomes available; it must not take it again at once.
TEST(MemoryWatch, DoesNotSwingWhenItsOwnShrinkingMakesRoom) {
  MemoryWatch watch = Watch();
  const uint64_t others = 2 * kGb;
  const uint64_t machine = 18 * kGb;
  int changes = 0;
  for (int second = 0; second < 600; ++second) {
    const uint64_t taken = watch.budget_bytes() + (second >= 10 ? others : 0);
    if (watch.Look(Available(machine - std::min(machine - 1, taken)), second)) {
      ++changes;
    }
  }
  EXPECT_EQ(changes, 1);
}

TEST(MemoryWatch, ReadingsCloserThanTheIntervalAreNotLookedAt) {
  MemoryWatch watch = Watch();
  watch.Look(Available(2 * kGb), 0);
  EXPECT_FALSE(watch.Look(Available(1), 0.5));
  EXPECT_TRUE(watch.Look(Available(1), 1));
}

TEST(MemoryWatch, AMachineThatTellsNothingChangesNothing) {
  MemoryWatch watch = Watch();
  for (int second = 0; second < 100; ++second) {
    EXPECT_FALSE(watch.Look({}, second));
  }
}

}  // namespace
}  // namespace coli
