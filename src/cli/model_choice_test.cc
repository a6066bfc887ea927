#include "cli/model_choice.h"

#include <gtest/gtest.h>

#include <fstream>

namespace coli {
namespace {

namespace fs = std::filesystem;

class ModelChoiceTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::path(testing::TempDir()) / ("model_choice_" + test);
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path MakeModel(const std::string& place) const {
    fs::create_directories(root_ / place);
    std::ofstream(root_ / place / "config.json") << "{}";
    return root_ / place;
  }
  fs::path Executable(const std::string& folder) const {
    fs::create_directories(root_ / folder);
    return root_ / folder / "coli";
  }

  fs::path root_;
};

TEST_F(ModelChoiceTest, ANamedDirectoryIsTaken) {
  const fs::path model = MakeModel("mine");

  const auto choice = ChooseModel(model.string(), Executable("bin"));

  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->directory, model);
  EXPECT_FALSE(choice->built_in);
}

TEST_F(ModelChoiceTest, WithoutANameTheBuiltInModelOfTheBuildTreeIsFound) {
  const fs::path model = MakeModel("models/nano");

  const auto choice = ChooseModel(std::nullopt, Executable("build/release"));

  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->directory, model);
  EXPECT_TRUE(choice->built_in);
}

TEST_F(ModelChoiceTest, WithoutANameTheInstalledModelIsFound) {
  const fs::path model = MakeModel("share/colibri/models/nano");

  EXPECT_EQ(ChooseModel(std::nullopt, Executable("bin"))->directory, model);
}

TEST_F(ModelChoiceTest, ErrorsSayWhatToDo) {
  std::ofstream(root_ / "file") << "x";
  const auto message = [this](const std::optional<std::string>& named) {
    const auto choice = ChooseModel(named, Executable("bin"));
    return choice ? "no error" : choice.error().message;
  };

  EXPECT_NE(message((root_ / "none").string()).find("no such directory"), std::string::npos);
  EXPECT_NE(message((root_ / "file").string()).find("not a directory"), std::string::npos);
  EXPECT_NE(message(root_.string()).find("there is no config.json"), std::string::npos);
  EXPECT_NE(message(std::nullopt).find("--model DIR"), std::string::npos);
}

}  // namespace
}  // namespace coli
