// What every engine that reads files must do.
#include "sys/io_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <vector>

#include "sys/aligned_buffer.h"
#include "sys/io_threads.h"
#include "sys/io_uring.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};  // more than any read takes

struct Kind {
  const char* name;
  std::function<std::unique_ptr<IoEngine>(size_t depth, bool direct)> make;
};

std::unique_ptr<IoEngine> Threads(size_t depth, bool direct) {
  return MakeIoThreads(IoThreadsOptions{.threads = depth, .direct = direct});
}

std::unique_ptr<IoEngine> Uring(size_t depth, bool direct) {
  auto engine = MakeIoUring({.depth = depth, .direct = direct});
  return engine ? *std::move(engine) : nullptr;
}

class IoEngineTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (Make(1) == nullptr) {
      GTEST_SKIP() << "this system does not have it";
    }
  }
  // A file of `bytes` in a directory that may be on a drive.
  const File& Write(size_t bytes) {
    content_ = PatternBytes(bytes, 1);
    WriteFile(path(), content_);
    file_.emplace(File::OpenRead(path(), DirectReads::kTry).value());
    return *file_;
  }
  std::filesystem::path path() const { return directory_ / "f"; }
  std::unique_ptr<IoEngine> Make(size_t depth, bool direct = true) const {
    return GetParam().make(depth, direct);
  }
  bool IsContent(uint64_t offset, std::span<const std::byte> bytes) const {
    const auto begin = content_.begin() + static_cast<std::ptrdiff_t>(offset);
    return std::equal(bytes.begin(), bytes.end(), begin);
  }

  TempDirectory directory_;
  std::vector<std::byte> content_;
  std::optional<File> file_;
};

struct Piece {
  uint64_t offset;
  std::vector<std::byte> bytes;
};

// Keeps up to 16 of `count` random reads in flight, waiting and polling by turns; the pieces that
// were read.
std::vector<Piece> ReadRandomPieces(IoEngine& io, const File& file, size_t count) {
  std::mt19937_64 random(7);
  std::vector<Piece> pieces(count);
  std::vector<int> seen(count, 0);
  size_t submitted = 0;
  while (submitted < count || io.in_flight() > 0) {
    while (submitted < count && io.in_flight() < 16) {
      Piece& piece = pieces[submitted];
      piece.offset = random() % file.size();
      piece.bytes.resize(random() % std::min<uint64_t>(file.size() - piece.offset, 20'000));
      const Urgency urgency = random() % 2 == 0 ? Urgency::kAhead : Urgency::kDemand;
      io.Submit({&file, piece.offset, piece.bytes, submitted++, urgency});
    }
    const auto polled = submitted % 2 == 0 ? io.Poll() : std::nullopt;
    const ReadCompletion done = polled ? *polled : io.Wait(kPatience).value();
    EXPECT_TRUE(done.status);
    ++seen.at(done.tag);
  }
  EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(count));
  return pieces;
}

TEST_P(IoEngineTest, ManyRandomReadsGiveTheFilesBytes) {
  const File& file = Write(500'000);

  for (const size_t depth : {1U, 2U, 8U}) {
    const auto io = Make(depth);
    for (const Piece& piece : ReadRandomPieces(*io, file, 2'000)) {
      ASSERT_TRUE(IsContent(piece.offset, piece.bytes));
    }
  }
}

// The last window reaches beyond the end of the file, which is not at a multiple of anything.
TEST_P(IoEngineTest, AlignedWindowsGiveTheSameBytesPastAndThroughThePageCache) {
  const File& file = Write(64 * kDirectAlignment + 1'234);
  constexpr size_t kWindow = 4 * kDirectAlignment;
  const size_t windows = file.size() / kWindow + 1;
  const auto buffer = AlignedBuffer::Allocate(windows * kWindow);

  for (const bool direct : {true, false}) {
    const auto io = Make(4, direct);
    std::ranges::fill(buffer->bytes(), std::byte{0});
    for (size_t i = 0; i < windows; ++i) {
      const uint64_t offset = i * kWindow;
      const size_t needed = std::min<uint64_t>(kWindow, file.size() - offset);
      io->Submit(
          {&file, offset, buffer->bytes().subspan(offset, kWindow), i, Urgency::kDemand, needed});
    }
    while (io->in_flight() > 0) {
      EXPECT_TRUE(io->Wait(kPatience).value().status);
    }
    EXPECT_TRUE(IsContent(0, buffer->bytes().first(file.size())));
    const IoStats stats = io->stats();
    EXPECT_EQ(stats.direct_reads, direct && file.direct() ? windows : 0);
    EXPECT_EQ(stats.direct_reads + stats.cached_reads, windows);
    EXPECT_EQ(stats.bytes, file.size());
    EXPECT_GT(stats.busy_us, 0U);
  }
}

TEST_P(IoEngineTest, AReadThatSuitsNoDirectReadGoesThroughThePageCache) {
  const File& file = Write(8 * kDirectAlignment);
  const auto buffer = AlignedBuffer::Allocate(3 * kDirectAlignment);
  const auto io = Make(2);

  io->Submit({&file, 1, buffer->bytes().first(kDirectAlignment), 0});
  io->Submit({&file, 0, buffer->bytes().subspan(kDirectAlignment + 1, 4'000), 1});
  io->Submit({&file, 0, buffer->bytes().subspan(2 * kDirectAlignment, 100), 2});
  while (io->in_flight() > 0) {
    EXPECT_TRUE(io->Wait(kPatience).value().status);
  }

  EXPECT_EQ(io->stats().cached_reads, 3U);
  EXPECT_TRUE(IsContent(1, buffer->bytes().first(kDirectAlignment)));
}

TEST_P(IoEngineTest, AFailedReadIsACompletionWithItsReason) {
  const File& file = Write(10);
  const auto io = Make(2);
  std::vector<std::byte> bytes(8);

  io->Submit({&file, 5, bytes, 42});
  const ReadCompletion done = io->Wait(kPatience).value();

  EXPECT_EQ(done.tag, 42U);
  ASSERT_FALSE(done.status);
  EXPECT_EQ(done.status.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(done.status.error().message,
            file.path() + ": unexpected end of file at byte 10, wanted 3 more");
  EXPECT_EQ(io->in_flight(), 0U);
  EXPECT_FALSE(io->Poll());
}

TEST_P(IoEngineTest, AFileThatIsTruncatedWhileItIsOpenIsAnErrorPastAndThroughThePageCache) {
  const File& file = Write(8 * kDirectAlignment);
  std::filesystem::resize_file(path(), 5 * kDirectAlignment + 100);
  const auto buffer = AlignedBuffer::Allocate(8 * kDirectAlignment);

  for (const bool direct : {true, false}) {
    const auto io = Make(2, direct);
    io->Submit({&file, 0, buffer->bytes(), 0});
    const Status status = io->Wait(kPatience).value().status;
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(status.error().message, HasSubstr("unexpected end of file at byte 20580"));
  }
}

TEST_P(IoEngineTest, AReadOfNothingCompletes) {
  const File& file = Write(10);
  const auto io = Make(2);

  io->Submit({&file, 10, {}, 5});

  EXPECT_TRUE(io->Wait(kPatience).value().status);
}

TEST_P(IoEngineTest, CancelledReadsCompleteOnceWhetherTheyHadBegunOrNot) {
  const File& file = Write(1 << 20);
  const auto io = Make(1);
  std::vector<std::vector<std::byte>> buffers(64, std::vector<std::byte>(100'000));
  for (size_t i = 0; i < buffers.size(); ++i) {
    io->Submit({&file, i * 1'000, buffers[i], i});
  }
  std::vector<bool> cancelled(buffers.size());
  for (size_t i = buffers.size(); i-- > 0;) {
    cancelled[i] = io->Cancel(i);
  }

  std::vector<int> seen(buffers.size(), 0);
  while (io->in_flight() > 0) {
    const ReadCompletion done = io->Wait(kPatience).value();
    ++seen[done.tag];
    ASSERT_EQ(done.status.has_value(), !cancelled[done.tag]);
  }

  EXPECT_EQ(std::ranges::count(seen, 1), std::ssize(seen));
  EXPECT_FALSE(io->Cancel(0));
}

TEST_P(IoEngineTest, EndsWithReadsInFlight) {
  const File& file = Write(1 << 20);

  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<std::byte>> buffers(64, std::vector<std::byte>(100'000));
    const auto io = Make(4);
    for (size_t i = 0; i < buffers.size(); ++i) {
      io->Submit({&file, i * 1'000, buffers[i], i});
    }
  }  // the engine goes first, then the buffers: a late write would be a use after free
}

TEST_P(IoEngineTest, ClosingTellsThatNothingHangs) {
  const File& file = Write(1 << 20);
  std::vector<std::byte> bytes(1 << 20);
  const auto io = Make(4);
  io->Submit({&file, 0, bytes, 0});

  EXPECT_TRUE(io->Close(kPatience));
}

INSTANTIATE_TEST_SUITE_P(All, IoEngineTest,
                         ::testing::Values(Kind{"threads", Threads}, Kind{"io_uring", Uring}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace coli
