#include "sys/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <vector>

#include "sys/aligned_buffer.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::HasSubstr;

void ExpectOpenFails(const fs::path& path, ErrorCode code, const std::string& text) {
  const auto file = File::OpenRead(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, code);
  EXPECT_THAT(file.error().message, HasSubstr(path.string()));
  EXPECT_THAT(file.error().message, HasSubstr(text));
}

TEST(File, ReadsAnyRangeExactly) {
  const TempDirectory directory;
  const auto bytes = PatternBytes(10'000, 1);
  WriteFile(directory / "f", bytes);
  const auto file = File::OpenRead(directory / "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), bytes.size());

  for (const size_t offset : {0U, 1U, 4095U, 9'999U, 10'000U}) {
    std::vector<std::byte> got(bytes.size() - offset);
    ASSERT_TRUE(file->ReadExact(offset, got));
    EXPECT_TRUE(
        std::equal(got.begin(), got.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
}

TEST(File, ReadingPastTheEndIsAnErrorWithPlaceAndAmount) {
  const TempDirectory directory;
  WriteFile(directory / "f", "0123456789");
  const auto file = File::OpenRead(directory / "f");
  std::vector<std::byte> got(8);

  const Status status = file->ReadExact(6, got);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(status.error().message,
            file->path() + ": unexpected end of file at byte 10, wanted 4 more");
}

TEST(File, OnlyRegularFilesAreOpenedAndNothingIsWaitedFor) {
  const TempDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  fs::create_directory(directory / "folder");
  fs::create_symlink("loop", directory / "loop");
  fs::create_symlink("gone", directory / "dangling");
  WriteFile(directory / "f", "x");

  ExpectOpenFails(directory / "fifo", ErrorCode::kInvalidArgument, "found a FIFO");
  ExpectOpenFails(directory / "folder", ErrorCode::kInvalidArgument, "found a directory");
  ExpectOpenFails("/dev/zero", ErrorCode::kInvalidArgument, "found a device");
  ExpectOpenFails(directory / "loop", ErrorCode::kIo, "Too many levels of symbolic links");
  ExpectOpenFails(directory / "dangling", ErrorCode::kNotFound, "No such file");
  ExpectOpenFails(directory / "missing", ErrorCode::kNotFound, "No such file");
  ExpectOpenFails(directory / "f/below", ErrorCode::kNotFound, "Not a directory");
}

TEST(File, ALinkToARegularFileIsFollowed) {
  const TempDirectory directory;
  WriteFile(directory / "blobs/abc", "data");
  fs::create_symlink("blobs/abc", directory / "model.safetensors");

  const auto file = File::OpenRead(directory / "model.safetensors");

  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 4U);
}

TEST(File, AReplacedFileKeepsItsOldBytes) {
  const TempDirectory directory;
  WriteFile(directory / "f", "old");
  const auto file = File::OpenRead(directory / "f");
  WriteFile(directory / "new", "NEW");
  fs::rename(directory / "new", directory / "f");
  std::string got(3, ' ');

  ASSERT_TRUE(file->ReadExact(0, std::as_writable_bytes(std::span(got))));
  EXPECT_EQ(got, "old");
}

TEST(File, AFileCutShortAfterOpeningIsAnErrorNotASignal) {
  const TempDirectory directory;
  WriteFile(directory / "f", PatternBytes(100'000, 1));
  const auto file = File::OpenRead(directory / "f");
  fs::resize_file(directory / "f", 50'000);
  std::vector<std::byte> got(100'000);

  const Status status = file->ReadExact(0, got);

  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message,
              HasSubstr("unexpected end of file at byte 50000, wanted 50000 more"));
}

TEST(File, SignalsDoNotDisturbReads) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);  // without SA_RESTART
  const itimerval storm{{0, 1000}, {0, 1000}};
  const itimerval calm{};
  const TempDirectory directory;
  const auto bytes = PatternBytes(1 << 20, 1);
  WriteFile(directory / "f", bytes);
  ::setitimer(ITIMER_REAL, &storm, nullptr);

  for (int i = 0; i < 50; ++i) {
    const auto file = File::OpenRead(directory / "f");
    ASSERT_TRUE(file);
    std::vector<std::byte> got(bytes.size());
    ASSERT_TRUE(file->ReadExact(0, got));
    ASSERT_EQ(got, bytes);
  }

  ::setitimer(ITIMER_REAL, &calm, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST(ReadTextFile, GivesTheWholeTextUpToTheLimit) {
  const TempDirectory directory;
  WriteFile(directory / "f", "12345");

  EXPECT_EQ(ReadTextFile(directory / "f", 5).value(), "12345");

  const auto over = ReadTextFile(directory / "f", 4);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(over.error().message, HasSubstr("expected at most 4 bytes, found 5"));
}

TEST(File, ReadsGoPastThePageCacheOnlyWhereThatWasAskedForAndEverythingIsAligned) {
  const TempDirectory directory;
  WriteFile(directory / "f", PatternBytes(10'000, 1));
  const auto buffer = AlignedBuffer::Allocate(2 * kDirectAlignment);
  const auto cached = File::OpenRead(directory / "f");
  const auto file = File::OpenRead(directory / "f", DirectReads::kTry);

  EXPECT_FALSE(cached->direct());
  EXPECT_EQ(cached->why_not_direct(), "not asked for");
  EXPECT_FALSE(cached->SuitsDirect(0, buffer->bytes()));
  EXPECT_EQ(file->direct(), file->why_not_direct().empty());
  EXPECT_EQ(file->SuitsDirect(kDirectAlignment, buffer->bytes()), file->direct());
  EXPECT_FALSE(file->SuitsDirect(1, buffer->bytes()));
  EXPECT_FALSE(file->SuitsDirect(0, buffer->bytes().subspan(1)));
  EXPECT_FALSE(file->SuitsDirect(0, buffer->bytes().first(kDirectAlignment + 1)));
}

TEST(File, AFileInMemoryHasNoPageCacheToPass) {
  const std::filesystem::path path = "/dev/shm/colibri-file-test";
  std::error_code error;
  if (!fs::is_directory("/dev/shm", error)) {
    GTEST_SKIP() << "no /dev/shm";
  }
  WriteFile(path, "0123456789");
  const auto file = File::OpenRead(path, DirectReads::kTry);
  fs::remove(path);

  ASSERT_TRUE(file);
  EXPECT_FALSE(file->direct());
  EXPECT_EQ(file->why_not_direct(), "the file system is in memory");
}

TEST(File, ARefusalIsRememberedAndMovesWithTheFile) {
  const TempDirectory directory;
  WriteFile(directory / "f", PatternBytes(10'000, 1));
  auto file = File::OpenRead(directory / "f", DirectReads::kTry);
  if (!file->direct()) {
    GTEST_SKIP() << file->why_not_direct();
  }

  file->RefuseDirect(EINVAL);
  const File moved = *std::move(file);

  EXPECT_FALSE(moved.direct());
  EXPECT_EQ(moved.why_not_direct(), "Invalid argument");
}

}  // namespace
}  // namespace coli
