#include "cli/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace coli {
namespace {

// A terminal or file that a test can read back, and a clock that it sets.
class ProgressTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(ends_.data()), 0);
    ASSERT_EQ(fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
  }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }

  Output MakeOutput(bool terminal, uint32_t columns) const {
    return Output(ends_[1], {terminal, terminal, terminal, columns});
  }
  Progress::Clock Clock() const {
    return [this] { return std::chrono::duration<double>(now_); };
  }
  std::string Written() const {
    std::array<char, 4096> buffer{};
    const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
    return count > 0 ? std::string(buffer.data(), static_cast<size_t>(count)) : std::string();
  }

  std::array<int, 2> ends_{};
  double now_ = 100;
};

TEST(ProgressLine, DropsDetailsThatDoNotFit) {
  const auto line = [](uint32_t columns) {
    return ProgressLine("reading the prompt", 310, 720, 12.3, ProgressUnit::kTokens, columns);
  };

  EXPECT_EQ(line(80), "reading the prompt: 43 %, 310 of 720 tokens, 12 s left");
  EXPECT_EQ(line(40), "reading the prompt: 43 %, 12 s left");
  EXPECT_EQ(line(25), "reading the prompt: 43 %");
  EXPECT_EQ(line(10), "43 %");
  EXPECT_EQ(line(3), "");
}

TEST(ProgressLine, WhatGoesOnBesideIsLeftOutFirst) {
  const auto line = [](uint32_t columns) {
    return ProgressLine("reading", 1, 2, 3, ProgressUnit::kTokens, columns, "warming: 10 %");
  };

  EXPECT_EQ(line(80), "reading: 50 %, 1 of 2 tokens, 3.00 s left; warming: 10 %");
  EXPECT_EQ(line(50), "reading: 50 %, 1 of 2 tokens, 3.00 s left");
}

TEST(ProgressLine, SaysNothingAboutTheRestBeforeItIsKnown) {
  EXPECT_EQ(ProgressLine("loading", 0, 2048, -1, ProgressUnit::kBytes, 80),
            "loading: 0 %, 0 B of 2.00 KiB");
}

TEST(ProgressLine, CountsWhenNobodyKnowsHowMuchThereIs) {
  EXPECT_EQ(ProgressLine("scoring", 2048, 0, -1, ProgressUnit::kBytes, 80),
            "scoring: 2.00 KiB so far");
  EXPECT_EQ(ProgressLine("scoring", 2048, 0, -1, ProgressUnit::kBytes, 10), "2.00 KiB");
  EXPECT_EQ(ProgressLine("answering", 7, 0, -1, ProgressUnit::kPrompts, 80),
            "answering: 7 prompts so far");
}

TEST_F(ProgressTest, WithoutATotalTheAmountGrows) {
  Output output = MakeOutput(true, 80);
  Progress progress(&output, "scoring", ProgressUnit::kTokens, Clock());
  now_ += 3;
  progress.Update(10, 0);
  EXPECT_EQ(Written(), "\rscoring: 10 tokens so far");
  now_ += 1;
  progress.Update(20, 0);

  EXPECT_EQ(Written(), "\rscoring: 20 tokens so far");
}

TEST_F(ProgressTest, SaysWhatGoesOnBeside) {
  Output output = MakeOutput(true, 80);
  Progress progress(&output, "reading", ProgressUnit::kTokens, Clock());
  now_ += 4;
  progress.Update(50, 100, "warming: 10 %");

  EXPECT_EQ(Written(), "\rreading: 50 %, 50 of 100 tokens, 4.00 s left; warming: 10 %");
}

TEST_F(ProgressTest, ShortStepsAreSilent) {
  Output output = MakeOutput(true, 80);
  {
    Progress progress(&output, "loading", ProgressUnit::kBytes, Clock());
    progress.Update(1, 10);
    now_ += 1.9;
    progress.Update(9, 10);
  }

  EXPECT_EQ(Written(), "");
}

TEST_F(ProgressTest, TerminalLineIsRewrittenAtMostFourTimesASecondAndRemoved) {
  Output output = MakeOutput(true, 80);
  {
    Progress progress(&output, "reading", ProgressUnit::kTokens, Clock());
    now_ += 2.5;
    progress.Update(25, 100);
    EXPECT_EQ(Written(), "\rreading: 25 %, 25 of 100 tokens, 7.50 s left");
    now_ += 0.1;
    progress.Update(26, 100);
    EXPECT_EQ(Written(), "");
    now_ += 0.15;
    progress.Update(55, 100);
    EXPECT_EQ(Written(), "\rreading: 55 %, 55 of 100 tokens, 2.25 s left");
  }

  EXPECT_EQ(Written(), "\r" + std::string(44, ' ') + "\r");
}

TEST_F(ProgressTest, AShorterLineCoversTheOneBefore) {
  Output output = MakeOutput(true, 80);
  Progress progress(&output, "reading", ProgressUnit::kTokens, Clock());
  now_ += 100;
  progress.Update(25, 100);
  EXPECT_EQ(Written(), "\rreading: 25 %, 25 of 100 tokens, 5 min 00 s left");
  now_ += 1;
  progress.Update(99, 100);

  EXPECT_EQ(Written(), "\rreading: 99 %, 99 of 100 tokens, 1.02 s left    ");
}

TEST_F(ProgressTest, TheShareNeverGoesBack) {
  Output output = MakeOutput(true, 80);
  Progress progress(&output, "reading", ProgressUnit::kTokens, Clock());
  now_ += 4;
  progress.Update(50, 100);
  Written();
  now_ += 1;
  progress.Update(10, 100);

  EXPECT_NE(Written().find("50 of 100"), std::string::npos);
}

TEST_F(ProgressTest, WithoutATerminalThereIsAPlainLineEveryThirtySeconds) {
  Output output = MakeOutput(false, 80);
  {
    Progress progress(&output, "reading", ProgressUnit::kTokens, Clock());
    now_ += 10;
    progress.Update(10, 100);
    EXPECT_EQ(Written(), "coli: reading: 10 %, 10 of 100 tokens, 1 min 30 s left\n");
    now_ += 29;
    progress.Update(50, 100);
    EXPECT_EQ(Written(), "");
    now_ += 1;
    progress.Update(50, 100);
    EXPECT_EQ(Written(), "coli: reading: 50 %, 50 of 100 tokens, 40 s left\n");
  }

  EXPECT_EQ(Written(), "");
}

TEST_F(ProgressTest, WithoutAnOutputNothingHappens) {
  Progress progress(nullptr, "reading", ProgressUnit::kTokens, Clock());
  now_ += 10;
  progress.Update(10, 100);

  EXPECT_EQ(Written(), "");
}

}  // namespace
}  // namespace coli
