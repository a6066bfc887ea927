#include "sys/drive_speed.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

using std::chrono::milliseconds;

// A drive that reads `bytes` in `busy_us`, and the time that passes meanwhile or while it idles.
class DriveSpeedTest : public ::testing::Test {
 protected:
  double Read(uint64_t bytes, uint64_t busy_us) {
    stats_.bytes += bytes;
    stats_.busy_us += busy_us;
    return Idle(milliseconds(busy_us / 1000));
  }
  double Idle(milliseconds time) {
    now_ += time;
    speed_.Update(stats_, now_);
    return speed_.bytes_per_second();
  }

  DriveSpeed speed_;
  IoStats stats_;
  DriveSpeed::Time now_{std::chrono::hours(1)};
};

TEST_F(DriveSpeedTest, TheFirstMeasurementCountsAndLaterOnesRaiseItSoonerThanTheyLowerIt) {
  EXPECT_DOUBLE_EQ(Read(10'000'000, 100'000), 1e8);
  EXPECT_DOUBLE_EQ(Read(30'000'000, 100'000), 2e8);
  EXPECT_DOUBLE_EQ(Read(20'000'000, 100'000), 2e8);
  EXPECT_DOUBLE_EQ(Read(4'000'000, 100'000), 1.8e8);
}

TEST_F(DriveSpeedTest, AMomentIsTooShortToMeasure) {
  Read(10'000'000, 100'000);
  EXPECT_DOUBLE_EQ(Read(10'000'000, 10'000), 1e8);
  EXPECT_DOUBLE_EQ(Read(10'000'000, 10'000), (1e8 + 1e9) / 2) << "both together are long enough";
}

TEST_F(DriveSpeedTest, AnIdleDriveIsBelievedToBeFasterAndThenMeasuredAnew) {
  Read(1'000'000, 1'000'000);
  EXPECT_DOUBLE_EQ(Idle(milliseconds(999)), 1e6);
  EXPECT_DOUBLE_EQ(Idle(milliseconds(1)), 2e6);
  EXPECT_DOUBLE_EQ(Idle(milliseconds(500)), 2e6);
  EXPECT_DOUBLE_EQ(Idle(milliseconds(500)), 4e6);
  EXPECT_DOUBLE_EQ(Idle(milliseconds(60'000)), 8e6) << "not for what nobody looked at";
  EXPECT_DOUBLE_EQ(Read(50'000'000, 100'000), 5e8);
}

TEST_F(DriveSpeedTest, OneThatWasNeverReadIsAsFastAsAnyOther) {
  EXPECT_DOUBLE_EQ(Idle(milliseconds(5'000)), DriveSpeed().bytes_per_second());
}

}  // namespace
}  // namespace coli
