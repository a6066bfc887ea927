// The whole engine against the reference implementation, and against itself under every setting
// that must not matter.

#include "engine/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "sys/file.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

constexpr const char* kGolden = "tests/golden";  // tests run in the root of the tree

EngineOptions Options(const std::string& fixture) {
  EngineOptions options;
  options.model_dir = std::filesystem::path(kGolden) / fixture;
  options.threads = 1;
  return options;
}

ValidationReport Replayed(const EngineOptions& options, bool layers = false) {
  Result<ValidationReport> report = Validate(options, layers);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return report ? *std::move(report) : ValidationReport{};
}

std::vector<std::string> Hashes(const EngineOptions& options) {
  std::vector<std::string> hashes;
  for (const CaseReport& c : Replayed(options).cases) {
    hashes.push_back(c.logits_hash);
  }
  return hashes;
}

// Float, grouped experts, and a container of mixed formats.
const char* const kSameBits[] = {"t0", "t12", "c-mixed", "c-int4-row"};

class SameBits : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fixtures, SameBits, ::testing::ValuesIn(kSameBits), [](const auto& param) {
  std::string name = param.param;
  std::erase(name, '-');
  return name;
});

TEST_P(SameBits, WhateverTheThreads) {
  EngineOptions options = Options(GetParam());
  const std::vector<std::string> expected = Hashes(options);

  for (const uint32_t threads : {2U, 4U}) {
    options.threads = threads;
    EXPECT_EQ(Hashes(options), expected) << threads;
  }
}

TEST_P(SameBits, WhateverTheInstructionSet) {
  EngineOptions options = Options(GetParam());
  const std::vector<std::string> expected = Hashes(options);

  options.isa = "scalar";

  EXPECT_EQ(Hashes(options), expected);
}

TEST_P(SameBits, WhateverThePrefillChunk) {
  EngineOptions options = Options(GetParam());
  const std::vector<std::string> expected = Hashes(options);

  for (const uint32_t chunk : {1U, 3U, 7U}) {
    options.prefill_chunk = chunk;
    EXPECT_EQ(Hashes(options), expected) << chunk;
  }
}

TEST_P(SameBits, WhateverTheCacheHolds) {
  EngineOptions options = Options(GetParam());
  const std::vector<std::string> expected = Hashes(options);

  for (const uint32_t experts : {1U, 2U, 5U, 1000U}) {
    options.cache_experts = experts;
    EXPECT_EQ(Hashes(options), expected) << experts;
  }
}

TEST(Validate, ExplicitAttentionAgreesWithinTheToleranceOfTheReference) {
  for (const char* fixture : {"t0", "t3", "t12"}) {
    EngineOptions options = Options(fixture);
    options.attention = AttentionForm::kExplicit;

    const ValidationReport report = Replayed(options);

    EXPECT_TRUE(report.ok) << fixture << ": " << report.cases[0].max_logit_error_over_range;
  }
}

TEST(Validate, LayersAreComparedWhereTheFixtureHasThem) {
  const ValidationReport report = Replayed(Options("t0"), true);

  ASSERT_EQ(report.cases[0].layers.size(), 4U);
  for (const CaseReport::LayerError& layer : report.cases[0].layers) {
    EXPECT_LE(layer.error_over_range, report.tolerance) << "layer " << layer.layer;
  }
}

// A mistake that ordinary fixtures do not catch: these are made so that they do.
TEST(Validate, TheWrongLatentEpsilonIsSeen) {
  EngineOptions options = Options("t9-eps6");
  const ValidationReport right = Replayed(options);

  // The fixture sets 1e-6; a copy that asks for 1e-5 must fail.
  const testing::TempDirectory copy;
  std::filesystem::copy(options.model_dir, copy.path(), std::filesystem::copy_options::recursive);
  std::string reference = *ReadTextFile(copy.path() / "reference.json", 1 << 20);
  const size_t at = reference.find("1e-06");
  ASSERT_NE(at, std::string::npos);
  reference.replace(at, 5, "1e-05");
  std::ofstream(copy.path() / "reference.json") << reference;
  options.model_dir = copy.path();
  const ValidationReport wrong = Replayed(options);

  EXPECT_TRUE(right.ok);
  EXPECT_FALSE(wrong.ok);
}

}  // namespace
}  // namespace coli
