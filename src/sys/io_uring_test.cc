#include "sys/io_uring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sys/read_queue.h"
#include "sys/testing/pipe_file.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::PipeFile;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr std::chrono::seconds kPatience{60};  // more than any read takes

class IoUringTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto engine = MakeIoUring({.depth = 1});
    if (!engine) {
      GTEST_SKIP() << engine.error().message;
    }
    io_ = *std::move(engine);
    WriteFile(directory_ / "f", PatternBytes(100, 1));
    file_.emplace(File::OpenRead(directory_ / "f", DirectReads::kTry).value());
  }

  // Only this is at the drive, until Release.
  void Block() { io_->Submit({&pipe_->file(), 0, bytes_, kBlock}); }
  void Release() const { pipe_->Write("1234", 4); }
  // Until the drive is busy: what is submitted afterwards waits.
  void AwaitBusy() const {
    while (io_->stats().busy_us == 0) {
    }
  }
  std::vector<uint64_t> Order() {
    std::vector<uint64_t> tags;
    while (io_->in_flight() > 0) {
      tags.push_back(io_->Wait(kPatience).value().tag);
    }
    return tags;
  }

  static constexpr uint64_t kBlock = 99;
  TempDirectory directory_;
  std::optional<File> file_;
  std::unique_ptr<PipeFile> pipe_ = std::make_unique<PipeFile>();
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4);
  std::vector<std::byte> others_ = std::vector<std::byte>(4);
  std::unique_ptr<IoEngine> io_;  // first to go
};

TEST_F(IoUringTest, AheadBeginsWhenNoDemandWaits) {
  Block();
  AwaitBusy();
  for (const uint64_t tag : {0U, 1U, 2U}) {
    io_->Submit({&*file_, 0, others_, tag, Urgency::kAhead});
    io_->Submit({&*file_, 0, others_, tag + 10, Urgency::kDemand});
  }
  EXPECT_TRUE(io_->Promote(2));
  EXPECT_TRUE(io_->Cancel(11));
  EXPECT_FALSE(io_->Cancel(kBlock)) << "it has begun";

  EXPECT_EQ(io_->Wait(kPatience).value().tag, 11U);
  EXPECT_FALSE(io_->Wait(milliseconds(1)));
  Release();
  EXPECT_THAT(Order(), ElementsAre(kBlock, 10, 12, 2, 0, 1));
}

TEST_F(IoUringTest, ShortReadsAreContinued) {
  Block();
  pipe_->Write("1", 1);
  pipe_->Write("23", 2);
  EXPECT_FALSE(io_->Wait(milliseconds(1)));
  pipe_->Write("4", 1);

  EXPECT_TRUE(io_->Wait(kPatience).value().status);
  EXPECT_EQ(bytes_[3], std::byte{'4'});
}

TEST_F(IoUringTest, AReadThatHangsIsLeftBehind) {
  Block();
  AwaitBusy();
  io_->Submit({&*file_, 0, others_, 1});

  EXPECT_FALSE(io_->Close(milliseconds(1)));
  io_.reset();
  file_.reset();  // nobody must look at it any more
  Release();
  std::this_thread::sleep_for(milliseconds(20));

  EXPECT_EQ(others_, std::vector<std::byte>(4)) << "it never began";
}

// Few reads ahead are at the drive at once; what becomes urgent goes there at once.
TEST(IoUring, APromotedReadDoesNotWaitForThoseThatAreAhead) {
  constexpr size_t kAhead = ReadQueue::kAheadAtDrive;
  std::vector<PipeFile> pipes(kAhead + 2);
  std::vector<std::vector<std::byte>> bytes(pipes.size(), std::vector<std::byte>(1));
  auto io = MakeIoUring({.depth = pipes.size()});
  if (!io) {
    GTEST_SKIP() << io.error().message;
  }
  for (size_t i = 0; i < pipes.size(); ++i) {
    (*io)->Submit({&pipes[i].file(), 0, bytes[i], i, Urgency::kAhead});
  }
  for (size_t i = kAhead; i < pipes.size(); ++i) {
    pipes[i].Write("x", 1);
  }
  EXPECT_FALSE((*io)->Wait(milliseconds(20))) << "they wait for those before them";

  for (size_t i = kAhead; i < pipes.size(); ++i) {
    EXPECT_TRUE((*io)->Promote(i));
    EXPECT_EQ((*io)->Wait(kPatience).value().tag, i);
  }
  for (size_t i = 0; i < kAhead; ++i) {
    pipes[i].Write("x", 1);
    EXPECT_TRUE((*io)->Wait(kPatience));
  }
}

TEST(IoUring, KeepsManyReadsAtTheDrive) {
  constexpr size_t kDepth = 5;
  auto io = MakeIoUring({.depth = kDepth});
  if (!io) {
    GTEST_SKIP() << io.error().message;
  }
  std::vector<PipeFile> pipes(kDepth + 1);
  std::vector<std::vector<std::byte>> bytes(pipes.size(), std::vector<std::byte>(1));
  for (size_t i = 0; i < pipes.size(); ++i) {
    (*io)->Submit({&pipes[i].file(), 0, bytes[i], i});
  }

  for (size_t i = kDepth; i-- > 0;) {  // in any order, while the others wait at the drive
    pipes[i].Write("x", 1);
    EXPECT_EQ((*io)->Wait(kPatience).value().tag, i);
  }
  pipes[kDepth].Write("x", 1);
  EXPECT_EQ((*io)->Wait(kPatience).value().tag, kDepth);
}

}  // namespace
}  // namespace coli
