#include "measure/engine_figures.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

TEST(WeightBytesPerToken, CountsWhatATokenUsesAndNothingElse) {
  ModelFacts facts{.config = {},
                   .file_bytes = 0,
                   .formats = {{"attention", {{"int8-row", 100}, {"f32", 5}}},
                               {"shared experts", {{"int4-row", 20}}},
                               {"experts", {{"int4-row", 800}}},
                               {"embedding", {{"bf16", 50}}},
                               {"head", {{"bf16", 40}}},
                               {"MTP", {{"int8-row", 1000}}}},
                   .expert_bytes = 800,
                   .expert_count = 16,
                   .largest_expert_bytes = 50,
                   .isa = {},
                   .isas = {},
                   .threads = 1,
                   .available_bytes = 0,
                   .plan = MemoryPlan{}};
  facts.config.layers = {{IndexerKind::kFull, FfnKind::kDense},
                         {IndexerKind::kFull, FfnKind::kSparse},
                         {IndexerKind::kFull, FfnKind::kSparse}};
  facts.config.router.experts_per_token = 3;

  // Two sparse layers with three of their experts each, of 50 bytes.
  EXPECT_EQ(WeightBytesPerToken(facts), 105u + 20 + 40 + 2 * 3 * 50);

  facts.config.tied_embeddings = true;

  EXPECT_EQ(WeightBytesPerToken(facts), 105u + 20 + 50 + 2 * 3 * 50);
}

}  // namespace
}  // namespace coli
