#include "engine/draft_acceptance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/fixture.h"
#include "engine/testing/golden.h"
#include "sys/file.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using testing::GoldenOptions;
using testing::GoldenPath;
using testing::Tokens;

int32_t Likeliest(const ReferenceMatrix& matrix, size_t row) {
  const float* const logits = matrix.row(row);
  return static_cast<int32_t>(std::max_element(logits, logits + matrix.cols) - logits);
}

// By the logits that the reference implementation computed.
DraftAcceptance Expected(const Fixture& fixture, const FixtureCase& c, uint32_t vocab) {
  const auto rows = static_cast<uint32_t>(c.ids.size());
  const ReferenceMatrix main = *fixture.Read(c.logits, rows, vocab);
  const ReferenceMatrix mtp = *fixture.Read(*c.mtp_logits, rows - 1, vocab);
  DraftAcceptance expected;
  for (size_t i = c.prompt_length - 1; i + 1 < rows; ++i) {
    ++expected.drafts;
    expected.accepted += Likeliest(mtp, i) == Likeliest(main, i + 1) ? 1U : 0U;
  }
  return expected;
}

TEST(MeasureDrafts, AgreesWithTheLogitsOfTheReference) {
  const auto fixture = Fixture::Open(GoldenPath("t11"));
  ASSERT_TRUE(fixture) << fixture.error().message;
  EngineOptions options = GoldenOptions("t11");
  const uint32_t vocab = LoadModelConfig(options.model_dir)->vocab_size;
  std::vector<Transcript> transcripts;
  DraftAcceptance expected;
  for (const FixtureCase& c : fixture->cases()) {
    if (!c.mtp_logits) {
      continue;
    }
    transcripts.push_back({c.ids, c.prompt_length});
    const DraftAcceptance one = Expected(*fixture, c, vocab);
    expected.drafts += one.drafts;
    expected.accepted += one.accepted;
  }
  ASSERT_GT(expected.drafts, 0u);

  for (const uint32_t chunk : {256U, 5U, 1U}) {
    options.prefill_chunk = chunk;
    const auto measured = MeasureDrafts(options, transcripts);

    ASSERT_TRUE(measured) << measured.error().message;
    EXPECT_EQ(measured->drafts, expected.drafts);
    EXPECT_EQ(measured->accepted, expected.accepted);
  }
}

TEST(CheckDrafting, AModelWithoutTheLayerIsRefused) {
  const testing::TempDirectory model;
  Json config = *ParseJson(*ReadTextFile(GoldenPath("t0") / "config.json", 1 << 20), "config.json");
  config["num_nextn_predict_layers"] = 0;
  testing::WriteFile(model / "config.json", config.dump());
  EngineOptions options;
  options.model_dir = model.path();

  const Status status = CheckDrafting(options);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(status.error().message.find("no MTP layer"), std::string::npos);
}

TEST(CheckDrafting, ALayerThatIsPromisedAndMissingIsNamedBeforeAnythingIsLoaded) {
  EXPECT_TRUE(CheckDrafting(GoldenOptions("t11")));

  const Status status = CheckDrafting(GoldenOptions("t3"));

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
}

TEST(MeasureDrafts, TranscriptsLongerThanTheContextAreRefused) {
  const auto measured = MeasureDrafts(GoldenOptions("t11"), {{Tokens(65), 4}});

  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kContextLength);
}

TEST(MeasureDrafts, StopsWhenItIsCancelled) {
  DraftWatch watch;
  watch.cancelled = [] { return true; };

  const auto measured = MeasureDrafts(GoldenOptions("t11"), {{Tokens(8), 4}}, watch);

  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kCancelled);
}

TEST(MeasureDrafts, ReportsHowFarItIs) {
  std::vector<uint64_t> done;
  DraftWatch watch;
  watch.replay = [&](uint64_t tokens, uint64_t total) {
    EXPECT_EQ(total, 20u);
    done.push_back(tokens);
  };

  ASSERT_TRUE(MeasureDrafts(GoldenOptions("t11"), {{Tokens(8), 4}, {Tokens(12), 4}}, watch));

  EXPECT_EQ(done, (std::vector<uint64_t>{8, 20}));
}

}  // namespace
}  // namespace coli
