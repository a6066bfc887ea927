#include "store/expert_drives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "store/testing/write_safetensors.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::PatternBytes;
using coli::testing::SafetensorsBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::chrono::seconds kPatience{60};  // more than any read takes

// A model of two files, and directories to mirror it in: on the same drive.
class ExpertDrivesTest : public ::testing::TestWithParam<IoKind> {
 protected:
  static constexpr size_t kBytes = 400'000;
  static constexpr size_t kPiece = 10'000;

  ExpertDrivesTest() {
    for (const char* name : {"a.safetensors", "b.safetensors"}) {
      WriteFile(model_ / name, Content());
    }
    OpenFiles();
    settings_.kind = GetParam();
  }

  void OpenFiles() {
    files_.clear();
    originals_.clear();
    for (const char* name : {"a.safetensors", "b.safetensors"}) {
      files_.push_back(
          std::make_unique<File>(File::OpenRead(model_ / name, DirectReads::kTry).value()));
      originals_.push_back(files_.back().get());
    }
  }
  static std::string Content() {
    const std::vector<std::byte> data = PatternBytes(kBytes, 1);
    return SafetensorsBytes(
        R"({"w":{"dtype":"U8","shape":[400000],"data_offsets":[0,400000]}})",
        std::string_view(reinterpret_cast<const char*>(data.data()), data.size()));
  }
  void CopyTo(const TempDirectory& mirror) const {
    for (const File* file : originals_) {
      fs::copy(file->path(), mirror.path());
    }
  }
  Result<std::unique_ptr<ExpertDrives>> Open(const std::vector<fs::path>& mirrors) const {
    return ExpertDrives::Open(settings_, originals_, mirrors);
  }
  // All pieces of both files, each as it should be.
  void ReadAll(IoEngine& io) const {
    const std::string content = Content();
    for (const File* file : originals_) {
      std::vector<std::byte> bytes(content.size());
      const size_t pieces = content.size() / kPiece;
      for (size_t i = 0; i < pieces; ++i) {
        io.Submit({file, i * kPiece, std::span(bytes).subspan(i * kPiece, kPiece), i});
      }
      while (io.in_flight() > 0) {
        const auto done = io.Wait(kPatience);
        ASSERT_TRUE(done);
        EXPECT_TRUE(done->status) << done->status.error().message;
      }
      EXPECT_EQ(std::memcmp(bytes.data(), content.data(), pieces * kPiece), 0);
    }
  }

  TempDirectory model_;
  TempDirectory mirror_;
  TempDirectory other_mirror_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<const File*> originals_;
  IoSettings settings_;
};

TEST_P(ExpertDrivesTest, OneDriveIsReadByItsEngineAlone) {
  const auto drives = Open({}).value();
  const auto io = drives->TakeEngine();

  ReadAll(*io);

  EXPECT_EQ(drives->drives(), 1U);
  EXPECT_EQ(drives->bytes_read(0), io->stats().bytes);
  EXPECT_THAT(drives->Describe(), AllOf(HasSubstr("depth"), Not(HasSubstr("drive"))));
  EXPECT_THAT(drives->TakeNotices(), IsEmpty());
}

TEST_P(ExpertDrivesTest, MirrorsTakeTheirShareOfTheReads) {
  CopyTo(mirror_);
  CopyTo(other_mirror_);
  fs::remove(other_mirror_ / "b.safetensors");
  const auto drives = Open({mirror_.path(), other_mirror_.path()}).value();
  const auto io = drives->TakeEngine();

  ReadAll(*io);

  ASSERT_EQ(drives->drives(), 3U);
  for (size_t drive = 0; drive < 3; ++drive) {
    EXPECT_GT(drives->bytes_read(drive), 0U) << drive;
  }
  EXPECT_THAT(drives->Describe(),
              AllOf(HasSubstr("3 drives: " + model_.path().string() + " ("),
                    HasSubstr(mirror_.path().string() + " with copies ("),
                    HasSubstr(other_mirror_.path().string() + " with copies of 1 of 2 files (")));
  EXPECT_THAT(drives->TakeNotices(), ElementsAre(HasSubstr("is on a drive of the model's own"),
                                                 HasSubstr("is on a drive of the model's own")));
}

TEST_P(ExpertDrivesTest, AMirrorThatIsCutShortIsToldOfOnceAndNothingFails) {
  CopyTo(mirror_);
  const auto drives = Open({mirror_.path()}).value();
  const auto io = drives->TakeEngine();
  ReadAll(*io);
  drives->TakeNotices();

  fs::resize_file(mirror_ / "a.safetensors", 20'000);
  ReadAll(*io);
  ReadAll(*io);

  EXPECT_THAT(drives->TakeNotices(),
              ElementsAre(AllOf(HasSubstr(mirror_.path().string() + " is not read any more: "),
                                HasSubstr("a.safetensors: unexpected end of file"))));
}

TEST_P(ExpertDrivesTest, FilesThatAreNoCopiesAreToldOfInOneLine) {
  CopyTo(mirror_);
  for (const char* name : {"a.safetensors", "b.safetensors"}) {
    WriteFile(other_mirror_ / name, SafetensorsBytes("{}", ""));
  }
  fs::resize_file(mirror_ / "b.safetensors", 1'000);

  const auto part = Open({mirror_.path()}).value();
  const auto none = Open({other_mirror_.path()});

  EXPECT_THAT(part->TakeNotices(),
              ::testing::Contains(AllOf(HasSubstr("1 of 2 files in " + mirror_.path().string()),
                                        HasSubstr("are not used: "), HasSubstr("found 1000"))));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("found none that can be used: "));
}

TEST_P(ExpertDrivesTest, MirrorsThatCannotActAreErrors) {
  CopyTo(mirror_);

  const auto itself = Open({model_.path()});
  const auto twice = Open({mirror_.path(), mirror_ / "."});
  const auto nothing = ExpertDrives::Open(settings_, {}, std::vector{mirror_.path()});

  ASSERT_FALSE(itself);
  EXPECT_THAT(itself.error().message, HasSubstr("found that file itself"));
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("which are the same"));
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("has no experts"));
}

// Links to files on another drive: here one in memory.
TEST_P(ExpertDrivesTest, EachDriveOfASplitModelHasAnEngineOfItsOwn) {
  const fs::path memory = "/dev/shm";
  if (!fs::is_directory(memory) || ::access(memory.c_str(), W_OK) != 0) {
    GTEST_SKIP() << "no file system in memory";
  }
  const fs::path part = memory / model_.path().filename();
  fs::create_directory(part);
  fs::copy(model_ / "b.safetensors", part);
  fs::remove(model_ / "b.safetensors");
  fs::create_symlink(part / "b.safetensors", model_ / "b.safetensors");
  OpenFiles();

  const auto drives = Open({}).value();
  fs::remove_all(part);
  const auto io = drives->TakeEngine();
  ReadAll(*io);

  ASSERT_EQ(drives->drives(), 2U);
  EXPECT_EQ(drives->bytes_read(0), drives->bytes_read(1)) << "a file each";
  EXPECT_THAT(drives->TakeNotices(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExpertDrivesTest,
                         ::testing::Values(IoKind::kAuto, IoKind::kThreads));

}  // namespace
}  // namespace coli
