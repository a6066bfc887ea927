#include "sys/file_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(FileWriter, ATextFileIsThereAsAWhole) {
  const TempDirectory directory;
  ASSERT_TRUE(WriteNewTextFile(directory / "c.json", "{}\n"));
  EXPECT_EQ(ReadTextFile(directory / "c.json", 10).value(), "{}\n");
  EXPECT_FALSE(std::filesystem::exists(directory / "c.json.part"));
  EXPECT_FALSE(WriteNewTextFile(directory / "none" / "c.json", "{}"));
}

}  // namespace
}  // namespace coli
