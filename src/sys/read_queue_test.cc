#include "sys/read_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

class ReadQueueTest : public ::testing::Test {
 protected:
  ReadQueueTest() {
    WriteFile(directory_ / "f", "0123456789");
    file_.emplace(File::OpenRead(directory_ / "f").value());
  }

  void Push(uint64_t tag, Urgency urgency) { queue_.Push({&*file_, 0, bytes_, tag, urgency}); }
  std::vector<uint64_t> TakeAll() {
    std::vector<uint64_t> tags;
    while (const auto request = queue_.Take()) {
      tags.push_back(request->tag);
    }
    return tags;
  }
  // As an engine whose call gave `result`.
  void Finish(const ReadRequest& request, ssize_t result) {
    FileRead read(request, true);
    read.Next();
    ASSERT_TRUE(queue_.Advance(read, result));
    queue_.Finish(read);
  }

  TempDirectory directory_;
  std::optional<File> file_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(10);
  ReadQueue queue_;
};

TEST_F(ReadQueueTest, DemandGoesFirstAndEachKindInOrder) {
  Push(1, Urgency::kAhead);
  Push(2, Urgency::kDemand);
  Push(3, Urgency::kAhead);
  Push(4, Urgency::kDemand);

  EXPECT_THAT(TakeAll(), ElementsAre(2, 4, 1, 3));
}

TEST_F(ReadQueueTest, FewReadsAheadAreAtTheDriveAtOnce) {
  constexpr uint64_t kLimit = ReadQueue::kAheadAtDrive;
  for (uint64_t tag = 1; tag <= kLimit + 2; ++tag) {
    Push(tag, Urgency::kAhead);
  }
  const auto first = queue_.Take();
  ASSERT_TRUE(first);
  for (uint64_t tag = 2; tag <= kLimit; ++tag) {
    EXPECT_TRUE(queue_.Take());
  }

  EXPECT_FALSE(queue_.Take());
  Push(100, Urgency::kDemand);
  EXPECT_THAT(TakeAll(), ElementsAre(100)) << "demand is not limited";
  EXPECT_TRUE(queue_.Promote(kLimit + 1));
  EXPECT_THAT(TakeAll(), ElementsAre(kLimit + 1)) << "nor is what became demand";
  Finish(*first, 10);
  EXPECT_THAT(TakeAll(), ElementsAre(kLimit + 2));
}

TEST_F(ReadQueueTest, APromotedReadIsTheLastOfTheDemand) {
  Push(1, Urgency::kAhead);
  Push(2, Urgency::kAhead);
  Push(3, Urgency::kDemand);

  EXPECT_TRUE(queue_.Promote(2));
  EXPECT_FALSE(queue_.Promote(2));
  EXPECT_FALSE(queue_.Promote(3));
  EXPECT_FALSE(queue_.Promote(9));
  EXPECT_THAT(TakeAll(), ElementsAre(3, 2, 1));
}

TEST_F(ReadQueueTest, ACancelledReadIsNeverTakenAndCompletesOnce) {
  Push(1, Urgency::kDemand);
  Push(2, Urgency::kAhead);

  EXPECT_TRUE(queue_.Cancel(1));
  EXPECT_FALSE(queue_.Cancel(1));
  EXPECT_EQ(queue_.in_flight(), 2U);
  const auto done = queue_.Poll();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->tag, 1U);
  ASSERT_FALSE(done->status);
  EXPECT_EQ(done->status.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(queue_.Poll());
  EXPECT_THAT(TakeAll(), ElementsAre(2));
  EXPECT_FALSE(queue_.Cancel(2)) << "it has begun";
}

TEST_F(ReadQueueTest, WaitingEndsWhenPatienceDoesOrNothingIsInFlight) {
  EXPECT_FALSE(queue_.Wait(milliseconds(3'600'000))) << "nothing is in flight";
  Push(1, Urgency::kDemand);

  EXPECT_FALSE(queue_.Wait(milliseconds(1)));
  Finish(*queue_.Take(), 10);
  EXPECT_EQ(queue_.Wait(milliseconds(0)).value().tag, 1U);
}

TEST_F(ReadQueueTest, ClosingDropsWhatWaitsAndGivesUpOnWhatHangs) {
  Push(1, Urgency::kDemand);
  Push(2, Urgency::kDemand);
  FileRead hanging(*queue_.Take(), true);
  hanging.Next();

  EXPECT_FALSE(queue_.Close(milliseconds(1)));
  EXPECT_FALSE(queue_.Take());
  EXPECT_FALSE(queue_.WaitToTake());
  EXPECT_FALSE(queue_.Advance(hanging, 10)) << "it comes too late";
}

TEST_F(ReadQueueTest, CountsBytesAndTheTimeAtTheDrive) {
  Push(1, Urgency::kDemand);
  Push(2, Urgency::kDemand);
  const ReadRequest first = *queue_.Take();
  const ReadRequest second = *queue_.Take();
  std::this_thread::sleep_for(milliseconds(5));
  Finish(first, 10);
  EXPECT_GE(queue_.stats().busy_us, 5'000U) << "one is still there";
  Finish(second, -EIO);
  const IoStats stats = queue_.stats();

  std::this_thread::sleep_for(milliseconds(5));

  EXPECT_EQ(stats.bytes, 10U);
  EXPECT_EQ(stats.cached_reads, 2U);
  EXPECT_EQ(stats.direct_reads, 0U);
  EXPECT_EQ(queue_.stats().busy_us, stats.busy_us) << "nothing is at the drive";
}

}  // namespace
}  // namespace coli
