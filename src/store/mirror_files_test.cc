#include "store/mirror_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/testing/write_safetensors.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::SafetensorsBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OpenMirrorTest : public ::testing::Test {
 protected:
  OpenMirrorTest() {
    for (const char* name : {"a.safetensors", "b.safetensors"}) {
      WriteFile(model_ / name, SafetensorsBytes(kHeader, "0123"));
      files_.push_back(std::make_unique<File>(File::OpenRead(model_ / name).value()));
    }
    originals_ = {files_[0].get(), files_[1].get()};
  }
  Result<MirrorFiles> Open() const { return OpenMirror(mirror_.path(), originals_); }

  static constexpr const char* kHeader =
      R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  static constexpr const char* kOther = R"({"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  TempDirectory model_;
  TempDirectory mirror_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<const File*> originals_;
};

TEST_F(OpenMirrorTest, APartialCopyStandsForTheFilesThatItHas) {
  fs::copy(model_ / "b.safetensors", mirror_ / "b.safetensors");
  WriteFile(mirror_ / "c.safetensors", "of no interest");

  const auto mirror = Open();

  ASSERT_TRUE(mirror) << mirror.error().message;
  ASSERT_EQ(mirror->copies.size(), 1U);
  EXPECT_EQ(mirror->copies.at(originals_[1])->path(), (mirror_ / "b.safetensors").string());
  EXPECT_THAT(mirror->refused, IsEmpty());
}

TEST_F(OpenMirrorTest, AFileThatDiffersIsNotUsedAndALineSaysInWhat) {
  fs::copy(model_ / "a.safetensors", mirror_ / "a.safetensors");
  WriteFile(mirror_ / "b.safetensors", SafetensorsBytes(kHeader, "01234"));

  const auto longer = Open();
  WriteFile(mirror_ / "b.safetensors", SafetensorsBytes(kOther, "0123"));
  const auto other = Open();
  WriteFile(mirror_ / "b.safetensors", SafetensorsBytes(kHeader, std::string_view("01\0\0", 4)));
  const auto unfinished = Open();

  ASSERT_TRUE(longer) << longer.error().message;
  EXPECT_EQ(longer->copies.size(), 1U);
  EXPECT_THAT(
      longer->refused,
      ElementsAre(AllOf(HasSubstr((mirror_ / "b.safetensors").string() + ": expected 66 bytes"),
                        HasSubstr("found 67"))));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_THAT(other->refused, ElementsAre(HasSubstr("expected the header of")));
  ASSERT_TRUE(unfinished) << unfinished.error().message;
  EXPECT_THAT(unfinished->refused, ElementsAre(HasSubstr("bytes of")));
}

TEST_F(OpenMirrorTest, TheModelsOwnFilesAreNoCopiesWhateverLeadsToThem) {
  fs::create_hard_link(model_ / "a.safetensors", mirror_ / "a.safetensors");
  fs::create_symlink(model_ / "b.safetensors", mirror_ / "b.safetensors");

  for (const auto& directory : {mirror_.path(), model_.path()}) {
    const auto mirror = OpenMirror(directory, originals_);
    ASSERT_FALSE(mirror);
    EXPECT_EQ(mirror.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(mirror.error().message, HasSubstr("found that file itself"));
  }
}

TEST_F(OpenMirrorTest, AMirrorThatCannotBeUsedIsAnError) {
  const auto nothing = Open();
  WriteFile(mirror_ / "b.safetensors", SafetensorsBytes(kOther, "0123"));
  const auto nothing_right = Open();
  const auto no_directory = OpenMirror(mirror_ / "none", originals_);

  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(nothing.error().message, HasSubstr("found none"));
  ASSERT_FALSE(nothing_right);
  EXPECT_THAT(nothing_right.error().message, HasSubstr("expected the header of"));
  ASSERT_FALSE(no_directory);
  EXPECT_EQ(no_directory.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace coli
