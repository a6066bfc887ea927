// Weights held in other number formats than they are stored in.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/model_facts.h"
#include "engine/testing/golden.h"
#include "engine/validate.h"

namespace coli {
namespace {

using testing::GoldenPath;
using ::testing::HasSubstr;

EngineOptions Options(const std::string& fixture, const std::string& experts = "keep",
                      const std::string& dense = "keep") {
  EngineOptions options;
  options.model_dir = GoldenPath(fixture);
  options.threads = 1;
  options.expert_format = experts;
  options.dense_format = dense;
  return options;
}

std::vector<std::string> Hashes(const EngineOptions& options) {
  const auto report = Validate(options, false);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  std::vector<std::string> hashes;
  for (const CaseReport& c : report.has_value() ? report->cases : std::vector<CaseReport>{}) {
    hashes.push_back(c.logits_hash);
  }
  return hashes;
}

Error ErrorOf(const EngineOptions& options) {
  const auto report = Validate(options, false);
  EXPECT_FALSE(report.has_value());
  return report.has_value() ? Error{} : report.error();
}

// Wider floats hold the same numbers.
TEST(HeldFormats, WideningToF32ChangesNoBit) {
  for (const char* fixture : {"t0", "plain-f16", "t5-mixed", "t6-transposed"}) {
    EXPECT_EQ(Hashes(Options(fixture, "f32", "f32")), Hashes(Options(fixture))) << fixture;
  }
}

TEST(HeldFormats, TheOrderOfFusedExpertsChangesNoBit) {
  EXPECT_EQ(Hashes(Options("t6-transposed")), Hashes(Options("t6-oblong")));
  EXPECT_EQ(Hashes(Options("t6-transposed", "int4-g16")), Hashes(Options("t6-oblong", "int4-g16")));
  EXPECT_EQ(Hashes(Options("t6-square-transposed")), Hashes(Options("t6-square")));
}

TEST(HeldFormats, QuantisedExpertsAreTheSameWhateverThreadsChunksAndCache) {
  EngineOptions options = Options("t0", "int4-g64", "int8-row");
  const std::vector<std::string> expected = Hashes(options);
  EXPECT_NE(expected, Hashes(Options("t0")));
  EXPECT_NE(expected, Hashes(Options("t0", "int4-g64")));
  EXPECT_NE(expected, Hashes(Options("t0", "keep", "int8-row")));

  options.threads = 3;
  EXPECT_EQ(Hashes(options), expected);
  options.prefill_chunk = 3;
  EXPECT_EQ(Hashes(options), expected);
  options.cache_experts = 1;
  EXPECT_EQ(Hashes(options), expected);
}

TEST(HeldFormats, ThePlanPricesWhatIsHeld) {
  const auto kept = InspectModel(Options("t0"));
  const auto held = InspectModel(Options("t0", "int8-row", "int8-row"));
  ASSERT_TRUE(kept && kept->plan && held && held->plan);

  EXPECT_LT(held->inputs.expert_bytes,
            kept->inputs.expert_bytes * 3 / 4);  // of bf16, padded to pages
  EXPECT_LT(held->plan->dense_bytes, kept->plan->dense_bytes * 3 / 4);
  EXPECT_EQ(held->plan->expert_cache_bytes, held->inputs.expert_bytes);
  EXPECT_EQ(kept->plan->staging_bytes, 0U);
  EXPECT_GE(held->plan->staging_bytes, kept->inputs.largest_expert_bytes);
  EXPECT_EQ(held->formats.at("experts").count("bf16"), 0U);
  EXPECT_EQ(held->formats.at("experts").count("int8-row"), 1U);
  EXPECT_EQ(held->formats.at("router").count("bf16"), 1U);   // never converted
  EXPECT_EQ(held->formats.at("indexer").count("bf16"), 1U);  // weights_proj
}

TEST(HeldFormats, WhatIsQuantisedStaysAsItIs) {
  EXPECT_EQ(Hashes(Options("c-int8-row", "int8-row", "int8-row")), Hashes(Options("c-int8-row")));

  const Error experts = ErrorOf(Options("c-int8-row", "int4-row"));
  EXPECT_EQ(experts.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(experts.message, HasSubstr(".mlp.experts.0.gate_proj.weight"));
  EXPECT_THAT(experts.message, HasSubstr("to convert to int4-row, found int8-row"));
  const Error dense = ErrorOf(Options("c-int8-row", "keep", "f32"));
  EXPECT_THAT(dense.message, HasSubstr("model.embed_tokens.weight"));
}

TEST(HeldFormats, UnknownNamesAreRefusedWithTheKnownOnes) {
  for (const auto& options : {Options("t0", "int4"), Options("t0", "keep", "int4")}) {
    const Error error = ErrorOf(options);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.message, HasSubstr("-format: expected keep or one of f32, bf16"));
    EXPECT_THAT(error.message, HasSubstr("int4-g64"));
    EXPECT_THAT(error.message, HasSubstr("found \"int4\""));
  }
}

}  // namespace
}  // namespace coli
