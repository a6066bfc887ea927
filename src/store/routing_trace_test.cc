#include "store/routing_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sys/file.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using ::testing::HasSubstr;

// Two layers of 4 experts around one without, and one of 40, of which a token uses two.
const RoutingTraceHeader kHeader{.layers = {{4, 100}, {0, 0}, {4, 100}, {40, 7}},
                                 .experts_per_token = 2};
constexpr float kExcluded = -std::numeric_limits<float>::infinity();

class RoutingTraceTest : public ::testing::Test {
 protected:
  // Three rows: two of a step in layer 0, then one in layer 3.
  std::string Written() {
    auto writer = RoutingTraceWriter::Create(path_, kHeader);
    EXPECT_TRUE(writer.has_value());
    const std::vector<ExpertId> chosen{ExpertId{0}, ExpertId{2}};
    EXPECT_TRUE(
        writer->Append(LayerId{0}, true, std::vector<float>{0.75F, 0.25F, 0.5F, 0.F}, chosen));
    EXPECT_TRUE(writer->Append(
        LayerId{0}, false, std::vector<float>{0.75F, kExcluded, 100'000.5F, kExcluded}, chosen));
    std::vector<float> scores(40);
    for (size_t e = 0; e < scores.size(); ++e) {
      scores[e] = 2 - static_cast<float>(e) / 64;
    }
    EXPECT_TRUE(writer->Append(LayerId{3}, true, scores, std::vector{ExpertId{0}, ExpertId{1}}));
    EXPECT_TRUE(writer->Finish());
    return ReadTextFile(path_, 1 << 20).value();
  }

  static Result<RoutingTrace> Parse(const std::string& bytes) {
    return RoutingTrace::Parse(std::as_bytes(std::span(bytes)), "t");
  }
  static std::string MessageOf(const std::string& bytes) {
    const auto trace = Parse(bytes);
    EXPECT_FALSE(trace.has_value());
    return trace ? "" : trace.error().message;
  }

  const coli::testing::TempDirectory directory_;
  const std::filesystem::path path_ = directory_ / "trace";
};

TEST_F(RoutingTraceTest, WhatIsWrittenIsReadAgain) {
  const auto trace = Parse(Written());

  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->header().experts_per_token, 2U);
  ASSERT_EQ(trace->header().layers.size(), 4U);
  EXPECT_EQ(trace->header().layers[3].experts, 40U);
  EXPECT_EQ(trace->header().layers[3].expert_bytes, 7U);
  ASSERT_EQ(trace->rows(), 3U);
  const RoutedRow first = trace->row(0);
  EXPECT_EQ(first.layer, LayerId{0});
  EXPECT_TRUE(first.begins_step);
  ASSERT_EQ(first.ranked.size(), 4U);
  const std::array<int, 4> order{0, 2, 1, 3};
  const std::array<float, 4> scores{0.75F, 0.5F, 0.25F, 0.0F};
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(first.ranked[i].expert, ExpertId{order[i]});
    EXPECT_EQ(first.ranked[i].score, scores[i]);
    EXPECT_EQ(first.ranked[i].chosen, i < 2);
  }
}

TEST_F(RoutingTraceTest, ExcludedExpertsHaveNoScoreAndFarOnesAreJustFar) {
  const auto trace = Parse(Written());

  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  const RoutedRow row = trace->row(1);
  EXPECT_FALSE(row.begins_step);
  ASSERT_EQ(row.ranked.size(), 2U);
  EXPECT_EQ(row.ranked[0].expert, ExpertId{2});
  EXPECT_EQ(row.ranked[1].score, 100'000.5F - 65'504.0F);
}

TEST_F(RoutingTraceTest, Only32ScoresAreKept) {
  const auto trace = Parse(Written());

  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->row(2).layer, LayerId{3});
  ASSERT_EQ(trace->row(2).ranked.size(), 32U);
  EXPECT_EQ(trace->row(2).ranked[31].expert, ExpertId{31});
}

TEST_F(RoutingTraceTest, ACutFileIsRefusedWhereverTheCutIs) {
  const std::string bytes = Written();

  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(MessageOf(bytes.substr(0, size)), HasSubstr("found the end of the file")) << size;
  }
}

TEST_F(RoutingTraceTest, EveryFlippedBitIsRefused) {
  const std::string bytes = Written();

  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_THAT(MessageOf(damaged), ::testing::StartsWith("t: byte ")) << bit;
  }
}

TEST_F(RoutingTraceTest, ErrorsSayWhatIsWrong) {
  const std::string bytes = Written();

  EXPECT_EQ(MessageOf("safetensors"),
            "t: byte 0: expected a routing trace, which begins with COLIROUT");
  std::string newer = bytes;
  newer[8] = 2;
  EXPECT_EQ(MessageOf(newer), "t: byte 8: expected version 1, found 2");
  EXPECT_EQ(
      MessageOf(bytes + "x"),
      fmt::format("t: byte {}: expected the end of the file, found 1 bytes more", bytes.size()));
}

TEST_F(RoutingTraceTest, AnExistingFileStays) {
  Written();

  const auto again = RoutingTraceWriter::Create(path_, kHeader);

  ASSERT_FALSE(again.has_value());
  EXPECT_THAT(again.error().message, HasSubstr("cannot create"));
}

TEST_F(RoutingTraceTest, AModelBeyondTheLimitsIsRefusedBeforeAFileIsThere) {
  const auto writer =
      RoutingTraceWriter::Create(path_, {.layers = {{40'000, 1}}, .experts_per_token = 1});

  ASSERT_FALSE(writer.has_value());
  EXPECT_THAT(writer.error().message, HasSubstr("the model has 1 of 40000"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace coli
