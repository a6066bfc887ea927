// The same numbers, whichever drive an expert is read from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "engine/testing/golden.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::GoldenOptions;
using coli::testing::GoldenPath;
using coli::testing::LoadGolden;
using coli::testing::Logits;
using coli::testing::TempDirectory;
using coli::testing::Tokens;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A golden model that reads most experts anew for each token, and a copy of its weights.
class MirrorTest : public ::testing::TestWithParam<IoKind> {
 protected:
  MirrorTest() {
    for (const auto& entry : fs::directory_iterator(options_.model_dir)) {
      if (entry.path().extension() == ".safetensors") {
        fs::copy(entry.path(), mirror_.path());
      }
    }
    options_.cache_experts = 4;
    options_.io = GetParam();
  }

  const std::vector<TokenId> tokens_ = Tokens(40);
  EngineOptions options_ = GoldenOptions("t0");
  TempDirectory mirror_;
};

TEST_P(MirrorTest, LogitsAreThoseOfTheModelAlone) {
  const std::vector<float> expected = Logits(*LoadGolden(options_), tokens_, 1);
  for (const DirectMode direct : {DirectMode::kAuto, DirectMode::kOff}) {
    options_.direct = direct;
    options_.mirrors = {mirror_.path()};
    const auto model = LoadGolden(options_);

    EXPECT_EQ(Logits(*model, tokens_, 1), expected);
    ASSERT_EQ(model->drives()->drives(), 2U);
    EXPECT_GT(model->drives()->bytes_read(0), 0U);
    EXPECT_GT(model->drives()->bytes_read(1), 0U);
    EXPECT_THAT(model->mode().io, AllOf(HasSubstr("2 drives: "), HasSubstr(mirror_.path().string()),
                                        HasSubstr(fs::canonical(options_.model_dir).string())));
  }
}

TEST_P(MirrorTest, OneThatFailsMidwayIsToldOfOnceAndChangesNothing) {
  const std::vector<float> expected = Logits(*LoadGolden(options_), tokens_, 1);
  options_.mirrors = {mirror_.path()};
  const auto model = LoadGolden(options_);
  EXPECT_EQ(Logits(*model, tokens_, 1), expected);
  model->TakeNotices();
  const uint64_t read_before = model->drives()->bytes_read(1);
  EXPECT_GT(read_before, 0U);

  for (const auto& entry : fs::directory_iterator(mirror_.path())) {
    fs::resize_file(entry.path(), 0);
  }

  // Reads go to the mirror when it is expected to be the sooner one, if that takes seconds.
  std::vector<std::string> notices;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
       notices.empty() && std::chrono::steady_clock::now() < end; notices = model->TakeNotices()) {
    EXPECT_EQ(Logits(*model, tokens_, 1), expected);
  }
  EXPECT_THAT(notices,
              ElementsAre(AllOf(HasSubstr(mirror_.path().string() + " is not read any more"),
                                HasSubstr("end of file"))));
  EXPECT_EQ(Logits(*model, tokens_, 1), expected);
  EXPECT_EQ(model->drives()->bytes_read(1), read_before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MirrorTest, ::testing::Values(IoKind::kAuto, IoKind::kThreads));

}  // namespace
}  // namespace coli
