#include "sys/io_faulty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "sys/io_threads.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::ElementsAre;

constexpr size_t kPiece = 1'000;
constexpr std::chrono::seconds kPatience{60};  // more than any read takes

class IoFaultyTest : public ::testing::Test {
 protected:
  IoFaultyTest() { WriteFile(directory_ / "f", content_); }

  // Reads pieces 0..count-1 of the file and gives the tags in order of completion.
  std::vector<uint64_t> Run(FaultScript script, size_t count) {
    const File file = File::OpenRead(directory_ / "f").value();
    const auto io = MakeIoFaulty(MakeIoThreads(4), std::move(script));
    pieces_.assign(count, std::vector<std::byte>(kPiece));
    statuses_.assign(count, Ok());
    for (size_t i = 0; i < count; ++i) {
      io->Submit({&file, i * kPiece, pieces_[i], i});
    }
    std::vector<uint64_t> order;
    while (io->in_flight() > 0) {
      const ReadCompletion done = io->Wait(kPatience).value();
      statuses_[done.tag] = done.status;
      order.push_back(done.tag);
    }
    return order;
  }

  bool IsRight(size_t piece, size_t bytes = kPiece) const {
    const auto begin = content_.begin() + static_cast<std::ptrdiff_t>(piece * kPiece);
    return std::equal(begin, begin + static_cast<std::ptrdiff_t>(bytes), pieces_[piece].begin());
  }

  TempDirectory directory_;
  std::vector<std::byte> content_ = PatternBytes(20 * kPiece, 3);
  std::vector<std::vector<std::byte>> pieces_;
  std::vector<Status> statuses_;
};

TEST_F(IoFaultyTest, WithoutAScriptCompletionsComeInOrderOfSubmission) {
  EXPECT_THAT(Run({}, 5), ElementsAre(0, 1, 2, 3, 4));
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(IsRight(i));
  }
}

TEST_F(IoFaultyTest, AHeldBackReadLetsOthersGoFirst) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {
    ReadFault fault;
    fault.hold_back = attempt.number == 0 ? 3 : 0;
    return fault;
  };

  EXPECT_THAT(Run(script, 5), ElementsAre(1, 2, 3, 0, 4));
}

TEST_F(IoFaultyTest, ShufflingDependsOnTheSeedOnly) {
  const auto first = Run({.decide = {}, .shuffle_seed = 5}, 20);
  const auto again = Run({.decide = {}, .shuffle_seed = 5}, 20);
  const auto other = Run({.decide = {}, .shuffle_seed = 6}, 20);

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_THAT(other, ::testing::UnorderedElementsAreArray(first));
}

TEST_F(IoFaultyTest, AShortReadThenAnErrorLeavesTheBytesThatArrived) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {
    ReadFault fault;
    if (attempt.number == 1) {
      fault.error = Error{ErrorCode::kIo, "scripted"};
      fault.bytes_before_error = 10;
    }
    return fault;
  };

  Run(script, 3);

  EXPECT_TRUE(statuses_[0]);
  ASSERT_FALSE(statuses_[1]);
  EXPECT_EQ(statuses_[1].error().message, "scripted");
  EXPECT_TRUE(IsRight(1, 10));
  EXPECT_FALSE(IsRight(1));
}

TEST_F(IoFaultyTest, FailFirstRecognisesRepetitions) {
  const File file = File::OpenRead(directory_ / "f").value();
  const auto io = MakeIoFaulty(MakeIoThreads(1), FailFirst(2, {ErrorCode::kIo, "scripted"}));
  std::vector<std::byte> bytes(kPiece);
  std::vector<bool> succeeded;

  for (int i = 0; i < 3; ++i) {
    io->Submit({&file, 0, bytes, 0});
    succeeded.push_back(io->Wait(kPatience).value().status.has_value());
  }

  EXPECT_THAT(succeeded, ElementsAre(false, false, true));
}

TEST_F(IoFaultyTest, PollFindsNothingWhileAReadIsHeldBack) {
  FaultScript script;
  script.decide = [](const ReadAttempt&) {
    ReadFault fault;
    fault.hold_back = 2;
    return fault;
  };
  const File file = File::OpenRead(directory_ / "f").value();
  const auto io = MakeIoFaulty(MakeIoThreads(1), script);
  std::vector<std::byte> bytes(kPiece);
  io->Submit({&file, 0, bytes, 9});

  EXPECT_FALSE(io->Poll());
  EXPECT_FALSE(io->Poll());
  const auto done = io->Poll();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->tag, 9U);
}

TEST_F(IoFaultyTest, ReadsBeginAsDepthAllowsAndTheOthersCanBeCancelledAndPromoted) {
  const File file = File::OpenRead(directory_ / "f").value();
  const auto io = MakeIoFaulty(MakeIoThreads(2), {.decide = {}, .shuffle_seed = {}, .depth = 1});
  std::vector<std::vector<std::byte>> pieces(6, std::vector<std::byte>(kPiece));
  for (size_t i = 0; i < pieces.size(); ++i) {
    io->Submit({&file, i * kPiece, pieces[i], i, i == 3 ? Urgency::kDemand : Urgency::kAhead});
  }

  std::vector<uint64_t> order = {io->Wait(kPatience).value().tag};
  EXPECT_TRUE(io->Promote(4));
  EXPECT_TRUE(io->Cancel(1));
  EXPECT_FALSE(io->Cancel(3)) << "it is complete";
  while (io->in_flight() > 0) {
    order.push_back(io->Wait(kPatience).value().tag);
  }

  EXPECT_THAT(order, ElementsAre(3, 1, 4, 0, 2, 5));
}

TEST_F(IoFaultyTest, AReadThatHangsOutlastsEveryPatience) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {
    ReadFault fault;
    fault.hang = attempt.number == 0;
    return fault;
  };
  const File file = File::OpenRead(directory_ / "f").value();
  const auto io = MakeIoFaulty(MakeIoThreads(1), script);
  std::vector<std::byte> bytes(kPiece);
  io->Submit({&file, 0, bytes, 0});
  io->Submit({&file, 0, bytes, 1});

  EXPECT_EQ(io->Wait(kPatience).value().tag, 1U);
  EXPECT_FALSE(io->Wait(std::chrono::milliseconds(1)));
  EXPECT_FALSE(io->Poll());
  EXPECT_EQ(io->in_flight(), 1U);
  EXPECT_FALSE(io->Close(kPatience));
}

TEST_F(IoFaultyTest, ADelayIsSharedByAllWhoWait) {
  FaultScript script;
  script.decide = [](const ReadAttempt&) {
    ReadFault fault;
    fault.delay = std::chrono::milliseconds(5);
    return fault;
  };
  const File file = File::OpenRead(directory_ / "f").value();
  const auto io = MakeIoFaulty(MakeIoThreads(1), script);
  std::vector<std::byte> bytes(kPiece);
  io->Submit({&file, 0, bytes, 0});

  EXPECT_FALSE(io->Wait(std::chrono::milliseconds(3)));
  EXPECT_TRUE(io->Wait(std::chrono::milliseconds(3)));
}

}  // namespace
}  // namespace coli
