#include "measure/disk_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>

#include "sys/aligned_buffer.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using ::testing::HasSubstr;
using testing::TempDirectory;

constexpr uint64_t kBytes = uint64_t{9} << 20;

TEST(DiskFile, ATemporaryOneHasNoNameAndItsBytesAreThere) {
  const TempDirectory directory;

  const auto file = DiskFile::MakeTemporary(directory.path(), kBytes, {});

  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->size(), kBytes);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  const AlignedBuffer buffer = AlignedBuffer::Allocate(DiskFile::kAlignment).value();
  std::ranges::fill(buffer.bytes(), std::byte{});
  ASSERT_TRUE(file->Read(kBytes - DiskFile::kAlignment, buffer.bytes()));
  EXPECT_TRUE(std::ranges::any_of(buffer.bytes(), [](std::byte b) { return b != std::byte{}; }));
}

TEST(DiskFile, ReadingPastTheEndIsAnErrorThatNamesThePlace) {
  const TempDirectory directory;
  const auto file = DiskFile::MakeTemporary(directory.path(), kBytes, {});
  ASSERT_TRUE(file) << file.error().message;
  const AlignedBuffer buffer = AlignedBuffer::Allocate(DiskFile::kAlignment).value();

  const Status status = file->Read(kBytes, buffer.bytes());

  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(directory.path().string()));
}

TEST(DiskFile, AFileThatDoesNotFitIsRefusedBeforeItIsWritten) {
  const TempDirectory directory;

  const auto file = DiskFile::MakeTemporary(directory.path(), uint64_t{1} << 60, {});

  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("expected 1152921504875282432 bytes of room"));
}

TEST(DiskFile, ACancellationLeavesNothing) {
  const TempDirectory directory;

  const auto file = DiskFile::MakeTemporary(directory.path(), kBytes, [] { return true; });

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(DiskFile, WhatIsNoFileIsRefused) {
  const TempDirectory directory;

  const auto none = DiskFile::Open(directory.path() / "none");
  const auto folder = DiskFile::Open(directory.path());

  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("none: No such file"));
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("expected a regular file, found a directory"));
}

// It takes the flag for direct reads, but there is no drive behind it.
TEST(DiskFile, AFileInMemoryIsNotReadPastThePageCache) {
  struct statfs facts{};
  if (::statfs("/dev/shm", &facts) != 0 || facts.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "/dev/shm is not in memory here";
  }
  const auto file = DiskFile::MakeTemporary("/dev/shm", 2 * DiskFile::kAlignment, {});
  if (!file) {
    GTEST_SKIP() << file.error().message;  // small in some containers
  }
  EXPECT_FALSE(file->direct());
}

}  // namespace
}  // namespace coli
