#include "engine/memory_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
