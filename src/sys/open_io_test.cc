#include "sys/open_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "sys/aligned_buffer.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<std::unique_ptr<IoEngine>> NoUring(const IoUringOptions&) {
  return Fail(ErrorCode::kUnsupported, "io_uring: Operation not permitted");
}

class OpenIoTest : public ::testing::Test {
 protected:
  OpenIoTest() {
    WriteFile(directory_ / "f", PatternBytes(20'000, 1));
    file_.emplace(File::OpenRead(directory_ / "f", DirectReads::kTry).value());
    cached_.emplace(File::OpenRead(directory_ / "f").value());
    files_ = {&*file_};
  }
  void SkipUnlessDirectUring() const {
    if (!file_->direct() || !MakeIoUring({})) {
      GTEST_SKIP() << "no io_uring or no direct reads here";
    }
  }
  std::string Describe(const OpenedIo& io) const { return DescribeIo(*io.engine, io.mode, files_); }

  TempDirectory directory_;
  std::optional<File> file_;
  std::optional<File> cached_;  // cannot be read past the page cache
  std::vector<const File*> files_;
};

TEST_F(OpenIoTest, TakesUringPastThePageCacheWhereItCan) {
  SkipUnlessDirectUring();

  const auto io = OpenIo({}, files_);

  ASSERT_TRUE(io);
  EXPECT_EQ(Describe(*io), "io_uring, direct, depth 8");
}

TEST_F(OpenIoTest, ProbesTheDepthWhenMuchIsToBeRead) {
  SkipUnlessDirectUring();
  std::filesystem::resize_file(directory_ / "f", 80 << 20);
  *file_ = File::OpenRead(directory_ / "f", DirectReads::kTry).value();
  std::vector<size_t> depths;
  IoSettings settings;
  settings.make_uring = [&](const IoUringOptions& options) {
    depths.push_back(options.depth);
    return MakeIoUring(options);
  };

  ASSERT_TRUE(OpenIo(settings, files_));
  EXPECT_THAT(depths, ::testing::ElementsAre(8));
  settings.streams = true;
  ASSERT_TRUE(OpenIo(settings, files_));
  EXPECT_THAT(depths, ::testing::IsSupersetOf({1, 2, 4, 8, 16}));
}

TEST_F(OpenIoTest, WithoutUringThreadsReadAndTheReasonIsGiven) {
  IoSettings settings;
  settings.threads = 3;
  settings.make_uring = NoUring;

  const auto io = OpenIo(settings, files_);

  ASSERT_TRUE(io);
  EXPECT_EQ(io->engine->name(), "threads");
  EXPECT_EQ(io->engine->depth(), 3U);
  if (file_->direct()) {
    EXPECT_EQ(Describe(*io), "threads, direct, depth 3: io_uring: Operation not permitted");
  }
}

TEST_F(OpenIoTest, UringByNameIsUringOrAnError) {
  IoSettings settings;
  settings.kind = IoKind::kUring;
  settings.make_uring = NoUring;

  const auto io = OpenIo(settings, files_);

  ASSERT_FALSE(io);
  EXPECT_EQ(io.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(io.error().message, HasSubstr("Operation not permitted"));
}

TEST_F(OpenIoTest, ThreadsByNameNeedNoReason) {
  IoSettings settings;
  settings.kind = IoKind::kThreads;

  const auto io = OpenIo(settings, files_);

  ASSERT_TRUE(io);
  EXPECT_THAT(Describe(*io), StartsWith("threads, "));
}

TEST_F(OpenIoTest, FilesThatAreReadThroughThePageCacheAreReadByThreads) {
  files_ = {&*cached_};

  const auto io = OpenIo({}, files_);

  ASSERT_TRUE(io);
  EXPECT_EQ(Describe(*io), "threads, page cache, depth 4: " + cached_->path() +
                               " cannot be read directly: not asked for");
}

TEST_F(OpenIoTest, DirectOnRefusesFilesThatCannotBe) {
  IoSettings settings;
  settings.direct = DirectMode::kOn;
  files_ = {&*file_, &*cached_};

  const auto io = OpenIo(settings, files_);

  ASSERT_FALSE(io);
  EXPECT_EQ(io.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(io.error().message, EndsWith("cannot be read directly: not asked for"));
}

TEST_F(OpenIoTest, DirectOffGoesThroughThePageCache) {
  IoSettings settings;
  settings.direct = DirectMode::kOff;

  const auto io = OpenIo(settings, files_);

  ASSERT_TRUE(io);
  EXPECT_EQ(Describe(*io), "threads, page cache, depth 4");
}

TEST_F(OpenIoTest, TheDescriptionFollowsTheReads) {
  SkipUnlessDirectUring();
  const auto io = OpenIo({}, files_);
  const auto buffer = AlignedBuffer::Allocate(kDirectAlignment);
  const auto read = [&](uint64_t offset) {
    io->engine->Submit({&*file_, offset, buffer->bytes(), 0});
    EXPECT_TRUE(io->engine->Wait(kClosePatience).value().status);
  };

  read(1);
  EXPECT_EQ(Describe(*io), "io_uring, page cache, depth 8");
  read(0);
  EXPECT_EQ(Describe(*io), "io_uring, direct and page cache, depth 8");
}

}  // namespace
}  // namespace coli
