#include "engine/model_facts.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

TEST(TensorRole, FollowsFromTheName) {
  const auto role = [](const char* name) { return TensorRole(name, 4); };

  EXPECT_EQ(role("model.embed_tokens.weight"), "embedding");
  EXPECT_EQ(role("lm_head.weight"), "head");
  EXPECT_EQ(role("model.norm.weight"), "norms");
  EXPECT_EQ(role("model.layers.0.mlp.gate_proj.weight"), "dense layers");
  EXPECT_EQ(role("model.layers.1.mlp.gate.weight"), "router");
  EXPECT_EQ(role("model.layers.1.mlp.experts.3.up_proj.weight"), "experts");
  EXPECT_EQ(role("model.layers.1.mlp.shared_experts.up_proj.weight"), "shared experts");
  EXPECT_EQ(role("model.layers.1.self_attn.q_a_proj.weight"), "attention");
  EXPECT_EQ(role("model.layers.1.self_attn.q_a_layernorm.weight"), "norms");
  EXPECT_EQ(role("model.layers.1.self_attn.indexer.k_norm.bias"), "indexer");
  EXPECT_EQ(role("model.layers.4.self_attn.q_a_proj.weight"), "MTP");
}

TEST(IndexerSchedule, CountsRuns) {
  const LayerConfig full{IndexerKind::kFull, FfnKind::kSparse};
  const LayerConfig shared{IndexerKind::kShared, FfnKind::kSparse};

  EXPECT_EQ(IndexerSchedule({full, full, full, shared, shared, full}), "3F 2S F");
  EXPECT_EQ(IndexerSchedule({}), "");
}

}  // namespace
}  // namespace coli
