#include "sys/file_identity.h"

#include <gtest/gtest.h>

#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;

FileIdentity Identity(const fs::path& path) {
  return IdentityOf(File::OpenRead(path).value()).value();
}

TEST(FileIdentity, NamesAndLinksDoNotMatterAndContentsDoNotEither) {
  const TempDirectory directory;
  WriteFile(directory / "file", "same");
  WriteFile(directory / "copy", "same");
  fs::create_symlink(directory / "file", directory / "link");
  fs::create_hard_link(directory / "file", directory / "name");

  const FileIdentity file = Identity(directory / "file");

  EXPECT_EQ(Identity(directory / "link"), file);
  EXPECT_EQ(Identity(directory / "name"), file);
  EXPECT_NE(Identity(directory / "copy"), file);
  EXPECT_EQ(Identity(directory / "copy").drive, file.drive);
}

}  // namespace
}  // namespace coli
