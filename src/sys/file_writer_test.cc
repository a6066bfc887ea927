#include "sys/file_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <vector>

#include "sys/file.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::HasSubstr;

TEST(FileWriter, TheFileIsWhatWasAppended) {
  const TempDirectory directory;
  auto writer = FileWriter::Create(directory / "f").value();
  std::string expected;
  for (size_t i = 0; i < 200; ++i) {  // small, large and empty pieces around the buffer's size
    const std::string piece(i % 3 == 0 ? i * 10'007 : i, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(writer.Append(piece));
    expected += piece;
    ASSERT_EQ(writer.bytes(), expected.size());
  }
  ASSERT_TRUE(writer.Finish());
  EXPECT_EQ(ReadTextFile(directory / "f", expected.size()).value(), expected);
}

TEST(FileWriter, NothingIsOverwritten) {
  const TempDirectory directory;
  WriteFile(directory / "f", "old");
  const auto writer = FileWriter::Create(directory / "f");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::kIo);
  EXPECT_THAT(writer.error().message, HasSubstr("/f: cannot create: File exists"));
  EXPECT_EQ(ReadTextFile(directory / "f", 10).value(), "old");
}

TEST(FileWriter, ALinkInTheWayIsNotFollowed) {
  const TempDirectory directory;
  std::filesystem::create_symlink(directory / "elsewhere", directory / "link");
  EXPECT_FALSE(FileWriter::Create(directory / "link"));
  EXPECT_FALSE(std::filesystem::exists(directory / "elsewhere"));
}

// Files of this process end at so many bytes while it lives: a full drive in small.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(FileWriter, AFileThatCannotGrowIsAnError) {
  const TempDirectory directory;
  const FileSizeLimit limit(1000);
  const std::string text(2000, 'x');
  auto writer = FileWriter::Create(directory / "f").value();
  ASSERT_TRUE(writer.Append(text));  // it is kept for now
  const Status finished = writer.Finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::kIo);
  EXPECT_THAT(finished.error().message, HasSubstr("/f: cannot write at byte 1000: "));
  EXPECT_FALSE(WriteNewTextFile(directory / "g", text));
  EXPECT_FALSE(std::filesystem::exists(directory / "g.part"));
}

TEST(FileWriter, WhatIsSkippedReadsAsZerosAndTakesNoRoom) {
  const TempDirectory directory;
  auto writer = FileWriter::Create(directory / "f").value();
  constexpr uint64_t kHole = uint64_t{1} << 34;
  ASSERT_TRUE(writer.Append("ab") && writer.Skip(3) && writer.Append("c") && writer.Skip(kHole));
  ASSERT_EQ(writer.bytes(), 6 + kHole);
  ASSERT_TRUE(writer.Finish());

  struct stat facts{};
  ASSERT_EQ(::stat((directory / "f").c_str(), &facts), 0);
  EXPECT_EQ(static_cast<uint64_t>(facts.st_size), 6 + kHole);
  EXPECT_LT(facts.st_blocks, 1024);
  std::string head(8, 'x');
  std::ifstream(directory / "f").read(head.data(), 8);
  EXPECT_EQ(head, std::string("ab\0\0\0c\0\0", 8));
}

TEST(FileWriter, ATextFileReplacesNothing) {
  const TempDirectory directory;
  WriteFile(directory / "c.json", "old");
  const Status written = WriteNewTextFile(directory / "c.json", "new");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("/c.json: File exists"));
  EXPECT_EQ(ReadTextFile(directory / "c.json", 10).value(), "old");
  EXPECT_FALSE(std::filesystem::exists(directory / "c.json.part"));
}

TEST(FileWriter, ATextFileIsThereAsAWhole) {
  const TempDirectory directory;
  ASSERT_TRUE(WriteNewTextFile(directory / "c.json", "{}\n"));
  EXPECT_EQ(ReadTextFile(directory / "c.json", 10).value(), "{}\n");
  EXPECT_FALSE(std::filesystem::exists(directory / "c.json.part"));
  EXPECT_FALSE(WriteNewTextFile(directory / "none" / "c.json", "{}"));
}

TEST(FileWriter, WhatIsAbandonedIsNotThere) {
  const TempDirectory directory;
  FileWriter writer = FileWriter::Create(directory / "file").value();
  ASSERT_TRUE(writer.Append("some"));

  writer.Abandon();

  EXPECT_FALSE(std::filesystem::exists(directory / "file"));
  EXPECT_TRUE(FileWriter::Create(directory / "file")) << "the name is free";
}

}  // namespace
}  // namespace coli
