#include "sys/read_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A file in memory whose reads give at most `step` bytes.
PositionalRead ShortReads(const std::vector<std::byte>& file, size_t step) {
  return [&file, step](std::byte* to, size_t bytes, uint64_t offset) -> ssize_t {
    const size_t left = offset >= file.size() ? 0 : file.size() - static_cast<size_t>(offset);
    const size_t got = std::min({bytes, step, left});
    if (got != 0) {
      std::memcpy(to, file.data() + offset, got);
    }
    return static_cast<ssize_t>(got);
  };
}

TEST(ReadFully, ShortReadsOfEveryLengthGiveTheSameBytes) {
  const auto file = testing::PatternBytes(200, 1);

  for (size_t step = 1; step < 200; ++step) {
    std::vector<std::byte> got(100);
    ASSERT_TRUE(ReadFully(ShortReads(file, step), 50, got, "f"));
    ASSERT_TRUE(std::equal(got.begin(), got.end(), file.begin() + 50)) << step;
  }
}

TEST(ReadFully, EndOfFileSaysWhereAndHowMuchIsMissing) {
  const auto file = testing::PatternBytes(120, 1);
  std::vector<std::byte> got(100);
  errno = EIO;  // an old reason that must not show up

  const Status status = ReadFully(ShortReads(file, 7), 50, got, "dir/f");

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(status.error().message, "dir/f: unexpected end of file at byte 120, wanted 30 more");
}

TEST(ReadFully, InterruptedReadsAreRepeated) {
  const auto file = testing::PatternBytes(100, 1);
  int calls = 0;
  const PositionalRead interrupted = [&](std::byte* to, size_t bytes, uint64_t offset) -> ssize_t {
    if (++calls % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    return ShortReads(file, 10)(to, bytes, offset);
  };
  std::vector<std::byte> got(100);

  ASSERT_TRUE(ReadFully(interrupted, 0, got, "f"));
  EXPECT_EQ(got, file);
  EXPECT_EQ(calls, 20);
}

TEST(ReadFully, AFailureNamesFilePlaceAndReason) {
  const PositionalRead failing = [](std::byte*, size_t, uint64_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  std::vector<std::byte> got(10);

  const Status status = ReadFully(failing, 77, got, "dir/f");

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("dir/f"), HasSubstr("byte 77"), HasSubstr("Input/output error")));
}

TEST(ReadFully, OffsetsBeyondAnyFileAreRefusedWithoutARead) {
  const PositionalRead never = [](std::byte*, size_t, uint64_t) -> ssize_t {
    ADD_FAILURE();
    return 0;
  };
  std::vector<std::byte> got(10);
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

  for (const uint64_t offset : {kMax, kMax - 5, kMax / 2, kMax / 2 - 9}) {
    const Status status = ReadFully(never, offset, got, "f");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace coli
