#include "sys/io_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <memory>
#include <vector>

#include "sys/aligned_buffer.h"
#include "sys/read_queue.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr std::chrono::seconds kPatience{60};  // more than any read takes

class IoThreadsTest : public ::testing::Test {
 protected:
  IoThreadsTest() {
    WriteFile(directory_ / "f", PatternBytes(4 * kDirectAlignment, 1));
    file_.emplace(File::OpenRead(directory_ / "f", DirectReads::kTry).value());
  }

  TempDirectory directory_;
  std::optional<File> file_;
};

TEST_F(IoThreadsTest, AheadBeginsWhenNoDemandWaits) {
  auto gate = std::make_shared<std::latch>(1);
  const auto io = MakeIoThreads(IoThreadsOptions{.threads = 1, .read = [gate](auto... call) {
                                                   gate->wait();
                                                   return ReadDescriptor(call...);
                                                 }});
  std::vector<std::byte> bytes(4);
  for (const uint64_t tag : {0U, 1U, 2U}) {
    io->Submit({&*file_, 0, bytes, tag, Urgency::kAhead});
    io->Submit({&*file_, 0, bytes, tag + 10, Urgency::kDemand});
  }
  gate->count_down();
  std::vector<uint64_t> order;
  while (io->in_flight() > 0) {
    order.push_back(io->Wait(kPatience).value().tag);
  }

  if (order.front() == 0) {  // it had begun before there was any demand
    EXPECT_THAT(order, ElementsAre(0, 10, 11, 12, 1, 2));
  } else {
    EXPECT_THAT(order, ElementsAre(10, 11, 12, 0, 1, 2));
  }
}

// Few reads ahead are at the drive at once; what becomes urgent goes there at once.
TEST_F(IoThreadsTest, APromotedReadDoesNotWaitForThoseThatAreAhead) {
  constexpr size_t kAhead = ReadQueue::kAheadAtDrive;
  constexpr uint64_t kGated = 4;  // reads from here on wait
  auto gate = std::make_shared<std::latch>(1);
  const auto io = MakeIoThreads(IoThreadsOptions{
      .threads = kAhead + 2,
      .read = [gate](int descriptor, std::span<std::byte> destination, uint64_t offset) {
        if (offset >= kGated) {
          gate->wait();
        }
        return ReadDescriptor(descriptor, destination, offset);
      }});
  std::vector<std::vector<std::byte>> bytes(kAhead + 2, std::vector<std::byte>(4));
  for (size_t i = 0; i < bytes.size(); ++i) {
    io->Submit({&*file_, i < kAhead ? kGated : 0, bytes[i], i, Urgency::kAhead});
  }
  EXPECT_FALSE(io->Wait(milliseconds(20))) << "they wait for those before them";

  for (size_t i = kAhead; i < bytes.size(); ++i) {
    EXPECT_TRUE(io->Promote(i));
    EXPECT_EQ(io->Wait(kPatience).value().tag, i);
  }
  gate->count_down();
  for (size_t i = 0; i < kAhead; ++i) {
    EXPECT_TRUE(io->Wait(kPatience));
  }
}

TEST_F(IoThreadsTest, AReadThatHangsIsLeftBehind) {
  struct Hang {
    std::latch begun{1};
    std::latch gate{1};
    std::latch ended{1};
  };
  const auto hang = std::make_shared<Hang>();
  auto io = MakeIoThreads(IoThreadsOptions{
      .threads = 1, .read = [hang](int, std::span<std::byte>, uint64_t) -> ssize_t {
        hang->begun.count_down();
        hang->gate.wait();
        hang->ended.count_down();
        return -EIO;
      }});
  std::vector<std::byte> bytes(4);
  io->Submit({&*file_, 0, bytes, 0});
  hang->begun.wait();

  EXPECT_FALSE(io->Wait(milliseconds(1)));
  EXPECT_FALSE(io->Close(milliseconds(1)));
  io.reset();
  file_.reset();  // the thread must not look at it any more
  hang->gate.count_down();
  hang->ended.wait();
}

TEST_F(IoThreadsTest, AFileSystemThatRefusesTheFirstDirectReadIsReadThroughThePageCache) {
  if (!file_->direct()) {
    GTEST_SKIP() << file_->why_not_direct();
  }
  std::atomic<int> refusals = 0;
  const int refused = file_->direct_descriptor();
  const auto io = MakeIoThreads(IoThreadsOptions{
      .threads = 1,
      .read = [&](int descriptor, std::span<std::byte> destination, uint64_t offset) -> ssize_t {
        if (descriptor == refused) {
          ++refusals;
          return -EINVAL;
        }
        return ReadDescriptor(descriptor, destination, offset);
      }});
  const auto buffer = AlignedBuffer::Allocate(4 * kDirectAlignment);

  for (uint64_t i = 0; i < 3; ++i) {
    io->Submit({&*file_, 0, buffer->bytes(), i});
    EXPECT_TRUE(io->Wait(kPatience).value().status);
  }

  EXPECT_EQ(refusals, 1);
  EXPECT_FALSE(file_->direct());
  EXPECT_EQ(file_->why_not_direct(), "Invalid argument");
  EXPECT_EQ(io->stats().cached_reads, 3U);
}

TEST_F(IoThreadsTest, ShortReadsAndRepetitionsGiveEveryByte) {
  std::atomic<unsigned> calls = 0;
  const auto io = MakeIoThreads(IoThreadsOptions{
      .threads = 2,
      .read = [&](int descriptor, std::span<std::byte> destination, uint64_t offset) -> ssize_t {
        switch (calls++ % 3) {
          case 0:
            return -EINTR;
          case 1:
            return -EAGAIN;
          default:
            return ReadDescriptor(
                descriptor, destination.first(std::min<size_t>(destination.size(), 1'000)), offset);
        }
      }});
  std::vector<std::byte> bytes(4 * kDirectAlignment);

  io->Submit({&*file_, 0, bytes, 0});

  EXPECT_TRUE(io->Wait(kPatience).value().status);
  EXPECT_EQ(bytes, PatternBytes(4 * kDirectAlignment, 1));
}

}  // namespace
}  // namespace coli
