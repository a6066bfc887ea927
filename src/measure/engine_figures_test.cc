#include "measure/engine_figures.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

// Two sparse layers, each with three of its eight experts for a token.
ModelFacts SomeFacts() {
  ModelFacts facts{.config = {},
                   .file_bytes = 0,
                   .formats = {{"attention", {{"int8-row", 100}, {"f32", 5}}},
                               {"shared experts", {{"int4-row", 20}}},
                               {"experts", {{"int4-row", 800}}},
                               {"embedding", {{"bf16", 50}}},
                               {"head", {{"bf16", 40}}},
                               {"MTP", {{"int8-row", 1000}}}},
                   .expert_count = 16,
                   .isa = {},
                   .isas = {},
                   .inputs = {.expert_bytes = 800, .largest_expert_bytes = 50},
                   .plan = MemoryPlan{}};
  facts.config.layers = {{IndexerKind::kFull, FfnKind::kDense},
                         {IndexerKind::kFull, FfnKind::kSparse},
                         {IndexerKind::kFull, FfnKind::kSparse}};
  facts.config.router.experts_per_token = 3;
  return facts;
}

TEST(WeightBytesPerToken, CountsWhatATokenUsesAndNothingElse) {
  ModelFacts facts = SomeFacts();

  // Two sparse layers with three of their experts each, of 50 bytes.
  EXPECT_EQ(WeightBytesPerToken(facts), 105u + 20 + 40 + 2 * 3 * 50);

  facts.config.tied_embeddings = true;

  EXPECT_EQ(WeightBytesPerToken(facts), 105u + 20 + 50 + 2 * 3 * 50);
}

TEST(ProductsPerToken, CountsTheWeightsThatAPromptIsMultipliedWithByFormat) {
  ModelFacts facts = SomeFacts();
  // Codes and the scales of their rows.
  constexpr uint64_t kInt8Matrix = 2048 * (6144 + 4);
  constexpr uint64_t kInt4Matrix = 2048 * (3072 + 4);
  facts.formats["attention"] = {{"int8-row", 2 * kInt8Matrix}};
  facts.formats["experts"] = {{"int4-row", 16 * kInt4Matrix}};
  facts.formats["shared experts"] = {{"int4-row", kInt4Matrix}};
  facts.inputs.expert_bytes = 16 * kInt4Matrix;

  const auto products = ProductsPerToken(facts);

  constexpr double kWeights = 2048.0 * 6144;
  ASSERT_EQ(products.size(), 2u);
  EXPECT_DOUBLE_EQ(products.at("int8-row"), 2 * kWeights);
  EXPECT_DOUBLE_EQ(products.at("int4-row"), (1 + 2 * 3) * kWeights);
}

}  // namespace
}  // namespace coli
