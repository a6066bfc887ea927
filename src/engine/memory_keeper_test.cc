#include "engine/memory_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/memory_plan.h"

namespace coli {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
constexpr uint64_t kGib = uint64_t{1} << 30;

// A machine whose memory a test decides about, and a cache that notes its budgets.
class MemoryKeeperTest : public ::testing::Test {
 protected:
  // A step at this time.
  void StepAt(int ms) { keeper_.AfterStep(MemoryKeeper::Clock::time_point(milliseconds(ms))); }

  uint64_t available_ = 4 * kGib;
  int readings_ = 0;
  std::vector<uint64_t> budgets_;
  MemoryKeeper keeper_{
      {.least_bytes = kGib / 64, .planned_bytes = 16 * kGib, .reserve_bytes = 2 * kGib},
      [this](uint64_t bytes) { budgets_.push_back(bytes); },
      [this] {
        ++readings_;
        return MemoryReading{.available_bytes = available_, .stalled_us = {}};
      }};
};

TEST_F(MemoryKeeperTest, LooksOnceASecondHoweverManyStepsThereAre) {
  for (int ms = 0; ms < 5000; ms += 10) {
    StepAt(ms);
  }
  EXPECT_EQ(readings_, 5);
  EXPECT_THAT(budgets_, IsEmpty());
  EXPECT_THAT(keeper_.TakeNotices(), IsEmpty());
}

TEST_F(MemoryKeeperTest, PressureFromOutsideReachesTheCacheAndIsTold) {
  StepAt(0);
  available_ = kGib / 2;
  StepAt(1000);

  EXPECT_THAT(budgets_, ElementsAre(16 * kGib - 3 * kGib / 2));
  EXPECT_THAT(keeper_.TakeNotices(), ElementsAre(HasSubstr("short of memory: experts may take "
                                                           "14848 MiB")));
  EXPECT_THAT(keeper_.TakeNotices(), IsEmpty());
}

TEST_F(MemoryKeeperTest, LongPressureIsToldAFewTimesOnly) {
  StepAt(0);
  available_ = 1;
  for (int s = 1; s < 60; ++s) {
    StepAt(1000 * s);
  }

  EXPECT_EQ(budgets_.back(), kGib / 64);
  EXPECT_GE(budgets_.size(), 8U);
  EXPECT_LE(keeper_.TakeNotices().size(), 4U);
}

// A token a second, 5 GB of experts in memory in half of it.
TEST_F(MemoryKeeperTest, HitsThatBecomeSlowShrinkTheCacheAndAreTold) {
  DecodeWork work;
  int second = 0;
  const auto decode = [&](int tokens, double hit_s) {
    for (int i = 0; i < tokens; ++i) {
      work.resident_s += hit_s;
      work.resident_bytes += 5'000'000'000;
      work.other_s += 0.9;
      work.other_bytes += 9'000'000'000;
      keeper_.AfterStep(MemoryKeeper::Clock::time_point(std::chrono::seconds(second++)), work);
    }
  };
  decode(20, 0.5);
  EXPECT_THAT(budgets_, IsEmpty());

  decode(HitWatch::kSlowWindows, 2);

  EXPECT_THAT(budgets_, ElementsAre(14 * kGib));
  EXPECT_THAT(keeper_.TakeNotices(), ElementsAre(HasSubstr("slow to read")));
}

// A control group in which a neighbour grows by 200 MiB a second to 8 GiB. The plan leaves a
// reserve, or the user named a budget that leaves little.
TEST(MemoryKeeper, AGroupNeverHoldsMoreThanItsLimitAllows) {
  constexpr uint64_t kLimit = 16 * kGib;
  constexpr uint64_t kOthers = 2 * kGib;  // of the plan, beside experts
  constexpr uint64_t kGrowth = kGib / 5;
  for (const uint64_t budget : {kLimit - ReservedBytes(kLimit), kLimit - kGib / 2}) {
    uint64_t cache = budget - kOthers;
    uint64_t neighbour = 0;
    const auto taken = [&] { return kOthers + cache + neighbour; };
    MemoryKeeper keeper(
        WatchLimits(kGib / 64, cache, budget, kLimit), [&](uint64_t bytes) { cache = bytes; },
        [&] {
          return MemoryReading{.available_bytes = kLimit - std::min(kLimit, taken()),
                               .stalled_us = {}};
        });
    for (int s = 0; s < 60; ++s) {
      keeper.AfterStep(MemoryKeeper::Clock::time_point(std::chrono::seconds(s)));
      neighbour += std::min(kGrowth, 8 * kGib - neighbour);
      ASSERT_LE(taken(), kLimit) << "budget " << budget << ", second " << s;
    }
    EXPECT_EQ(neighbour, 8 * kGib);
    EXPECT_LT(cache, budget - kOthers - 7 * kGib);
  }
}

TEST(WatchLimits, KeepWhatThePlanLeavesWithinReason) {
  const auto reserve = [](uint64_t total, uint64_t available) {
    return WatchLimits(1, 2, total, available).reserve_bytes;
  };
  EXPECT_EQ(reserve(18 * kGib, 20 * kGib), 2 * kGib);  // as planned by itself
  EXPECT_EQ(reserve(19 * kGib, 20 * kGib), kGib);      // a larger budget was named
  EXPECT_EQ(reserve(20 * kGib, 20 * kGib), uint64_t{128} << 20);
  EXPECT_EQ(reserve(kGib, 20 * kGib), 2 * kGib);  // a small model
  EXPECT_EQ(reserve(40 * kGib, 20 * kGib), uint64_t{128} << 20);
}

}  // namespace
}  // namespace coli
