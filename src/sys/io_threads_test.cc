#include "sys/io_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;

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
      io.Submit({&file, piece.offset, piece.bytes, submitted++});
    }
    const auto polled = submitted % 2 == 0 ? io.Poll() : std::nullopt;
    const ReadCompletion done = polled ? *polled : io.Wait();
    EXPECT_TRUE(done.status);
    ++seen.at(done.tag);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(count));
  return pieces;
}

TEST(IoThreads, ManyRandomReadsGiveTheFilesBytes) {
  const TempDirectory directory;
  const auto bytes = PatternBytes(500'000, 1);
  WriteFile(directory / "f", bytes);
  const auto file = File::OpenRead(directory / "f");

  for (const size_t threads : {1U, 2U, 8U}) {
    const auto io = MakeIoThreads(threads);
    for (const Piece& piece : ReadRandomPieces(*io, *file, 2'000)) {
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(piece.offset);
      ASSERT_TRUE(std::equal(piece.bytes.begin(), piece.bytes.end(), begin));
    }
  }
}

TEST(IoThreads, AFailedReadIsACompletionWithItsReason) {
  const TempDirectory directory;
  WriteFile(directory / "f", "0123456789");
  const auto file = File::OpenRead(directory / "f");
  const auto io = MakeIoThreads(2);
  std::vector<std::byte> bytes(8);

  io->Submit({&*file, 5, bytes, 42});
  const ReadCompletion done = io->Wait();

  EXPECT_EQ(done.tag, 42U);
  ASSERT_FALSE(done.status);
  EXPECT_EQ(done.status.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(done.status.error().message,
              ::testing::HasSubstr("unexpected end of file at byte 10, wanted 3 more"));
  EXPECT_EQ(io->in_flight(), 0U);
  EXPECT_FALSE(io->Poll());
}

TEST(IoThreads, EndsWithReadsInFlight) {
  const TempDirectory directory;
  WriteFile(directory / "f", PatternBytes(1 << 20, 1));
  const auto file = File::OpenRead(directory / "f");

  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<std::byte>> buffers(64, std::vector<std::byte>(100'000));
    const auto io = MakeIoThreads(4);
    for (size_t i = 0; i < buffers.size(); ++i) {
      io->Submit({&*file, i * 1'000, buffers[i], i});
    }
  }  // the engine goes first, then the buffers: a late write would be a use after free
}

}  // namespace
}  // namespace coli
