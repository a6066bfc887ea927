// One test per configuration that must be refused because its meaning is undefined, contradictory
// or another model's.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/model_config.h"

namespace coli {
namespace {

// The error that a small model has with `changes`.
std::string ErrorWith(const Json& changes, ErrorCode code = ErrorCode::kCorrupt) {
  Json config = Json::parse(R"({"model_type": "glm_moe_dsa", "vocab_size": 256, "hidden_size":
      64, "intermediate_size": 96, "moe_intermediate_size": 48, "num_hidden_layers": 4,
      "num_attention_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 24, "qk_nope_head_dim": 12,
      "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 16, "num_experts_per_tok": 4,
      "rope_theta": 5000, "eos_token_id": 7})");
  config.update(changes);
  const auto parsed = ParseModelConfig(config, nullptr, "config.json");
  if (parsed) {
    return "accepted";
  }
  EXPECT_EQ(parsed.error().code, code);
  return parsed.error().message;
}

std::string UnsupportedWith(const Json& changes) {
  return ErrorWith(changes, ErrorCode::kUnsupported);
}

TEST(ModelConfig, RejectsShortIndexerTypes) {
  EXPECT_EQ(ErrorWith({{"indexer_types", {"full", "shared", "full"}}}),
            "config.json: indexer_types: expected at least 4 entries, found [\"full\", \"shared\", "
            "\"full\"]");
}

TEST(ModelConfig, RejectsUnknownIndexerType) {
  EXPECT_EQ(ErrorWith({{"indexer_types", {"full", "shared", "none", "full"}}}),
            "config.json: indexer_types[2]: expected \"full\" or \"shared\", found \"none\"");
}

TEST(ModelConfig, RejectsUnknownPatternCharacter) {
  EXPECT_EQ(
      ErrorWith({{"index_topk_pattern", "FSxF"}}),
      "config.json: index_topk_pattern: expected the characters F and S only, found \"FSxF\"");
}

TEST(ModelConfig, RejectsShortPattern) {
  EXPECT_EQ(ErrorWith({{"index_topk_pattern", "FSS"}}),
            "config.json: index_topk_pattern: expected at least 4 entries, found \"FSS\"");
  EXPECT_EQ(ErrorWith({{"index_topk_pattern", ""}}),
            "config.json: index_topk_pattern: expected at least 4 entries, found \"\"");
}

TEST(ModelConfig, RejectsUnknownPatternWord) {
  EXPECT_EQ(ErrorWith({{"index_topk_pattern", {"full", "F", "full", "full"}}}),
            "config.json: index_topk_pattern[1]: expected \"full\" or \"shared\", found \"F\"");
}

TEST(ModelConfig, RejectsFirstLayerShared) {
  EXPECT_EQ(ErrorWith({{"indexer_types", {"shared", "full", "full", "full"}}}),
            "config.json: indexer_types[0]: expected \"full\" in the first layer, which has none "
            "below to share with, "
            "found \"shared\"");
  EXPECT_EQ(ErrorWith({{"index_topk_pattern", "SFFF"}}),
            "config.json: index_topk_pattern: expected \"full\" in the first layer, which has none "
            "below to share with, "
            "found \"SFFF\"");
}

TEST(ModelConfig, RejectsFirstLayerSharedByTheFormula) {
  EXPECT_EQ(ErrorWith({{"index_topk_freq", 4}, {"index_skip_topk_offset", 0}}),
            "config.json: index_skip_topk_offset: expected at least 1: the first layer has none "
            "below to share with, "
            "found 0");
}

TEST(ModelConfig, RejectsMissingQueryLatent) {
  EXPECT_EQ(ErrorWith({{"q_lora_rank", nullptr}}),
            "config.json: q_lora_rank: expected an integer in [1, 32768], found null");
  EXPECT_EQ(ErrorWith({{"q_lora_rank", 0}}),
            "config.json: q_lora_rank: expected an integer in [1, 32768], found 0");
}

TEST(ModelConfig, RejectsKeyValueHeadsOtherThanHeads) {
  EXPECT_EQ(ErrorWith({{"num_key_value_heads", 2}}),
            "config.json: num_key_value_heads: expected num_attention_heads, 4, found 2");
}

TEST(ModelConfig, RejectsHeadDimThatIsNoSum) {
  EXPECT_EQ(ErrorWith({{"qk_head_dim", 21}}),
            "config.json: qk_head_dim: expected qk_nope_head_dim + qk_rope_head_dim, 20, found 21");
}

TEST(ModelConfig, RejectsIndexHeadSmallerThanItsRotatedPart) {
  EXPECT_EQ(ErrorWith({{"index_head_dim", 7}}),
            "config.json: index_head_dim: expected at least qk_rope_head_dim, 8, found 7");
}

TEST(ModelConfig, RejectsOddRopeDim) {
  EXPECT_EQ(ErrorWith({{"qk_rope_head_dim", 9}}),
            "config.json: qk_rope_head_dim: expected an even number, found 9");
}

TEST(ModelConfig, RejectsIndexTopKThatIsNoCount) {
  EXPECT_EQ(ErrorWith({{"index_topk", "many"}}),
            "config.json: index_topk: expected an integer in [1, 1048576], found \"many\"");
  EXPECT_EQ(ErrorWith({{"index_topk", 0}}),
            "config.json: index_topk: expected an integer in [1, 1048576], found 0");
}

TEST(ModelConfig, RejectsNoIndexHeads) {
  EXPECT_EQ(ErrorWith({{"index_n_heads", 0}}),
            "config.json: index_n_heads: expected an integer in [1, 1024], found 0");
}

TEST(ModelConfig, RejectsOtherRopeTypes) {
  EXPECT_EQ(UnsupportedWith({{"rope_parameters", {{"rope_theta", 1e4}, {"rope_type", "yarn"}}}}),
            "config.json: rope_parameters.rope_type: expected \"default\", found \"yarn\"");
  EXPECT_EQ(UnsupportedWith({{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}}),
            "config.json: rope_scaling.type: expected \"default\", found \"linear\"");
  EXPECT_EQ(UnsupportedWith({{"rope_scaling", {{"rope_type", "yarn"}}}}),
            "config.json: rope_scaling.rope_type: expected \"default\", found \"yarn\"");
}

TEST(ModelConfig, RejectsPartialRotation) {
  EXPECT_EQ(UnsupportedWith({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}),
            "config.json: rope_parameters.partial_rotary_factor: expected 1, found 0.5");
}

TEST(ModelConfig, RejectsThetaOutOfRange) {
  EXPECT_EQ(ErrorWith({{"rope_theta", 0}}),
            "config.json: rope_theta: expected a number in [1, 1000000000000], found 0");
  EXPECT_EQ(ErrorWith({{"rope_parameters", {{"rope_theta", "8e6"}}}}),
            "config.json: rope_parameters.rope_theta: expected a number in [1, 1000000000000], "
            "found \"8e6\"");
}

TEST(ModelConfig, RejectsHalfSplitRotation) {
  EXPECT_EQ(UnsupportedWith({{"rope_interleave", false}}),
            "config.json: rope_interleave: expected true, found false");
  EXPECT_EQ(UnsupportedWith({{"indexer_rope_interleave", false}}),
            "config.json: indexer_rope_interleave: expected true, found false");
}

TEST(ModelConfig, RejectsOtherScoringFunction) {
  EXPECT_EQ(UnsupportedWith({{"scoring_func", "softmax"}}),
            "config.json: scoring_func: expected \"sigmoid\", found \"softmax\"");
}

TEST(ModelConfig, RejectsOtherTopKMethod) {
  EXPECT_EQ(UnsupportedWith({{"topk_method", "greedy"}}),
            "config.json: topk_method: expected \"noaux_tc\", found \"greedy\"");
}

TEST(ModelConfig, RejectsOtherMoeLayerFrequency) {
  EXPECT_EQ(UnsupportedWith({{"moe_layer_freq", 2}}),
            "config.json: moe_layer_freq: expected 1, found 2");
}

TEST(ModelConfig, RejectsOtherActivation) {
  EXPECT_EQ(UnsupportedWith({{"hidden_act", "gelu"}}),
            "config.json: hidden_act: expected \"silu\", found \"gelu\"");
}

TEST(ModelConfig, RejectsGroupsThatDoNotDivideTheExperts) {
  EXPECT_EQ(ErrorWith({{"n_group", 3}}),
            "config.json: n_group: expected a divisor of the number of experts, 16, found 3");
}

TEST(ModelConfig, RejectsGroupsOfOneExpert) {
  EXPECT_EQ(ErrorWith({{"n_group", 16}, {"topk_group", 8}}),
            "config.json: n_group: expected groups of at least 2 of the 16 experts, found 16");
}

TEST(ModelConfig, RejectsMoreTopGroupsThanGroups) {
  EXPECT_EQ(ErrorWith({{"n_group", 4}, {"topk_group", 5}}),
            "config.json: topk_group: expected at most n_group, 4, found 5");
}

TEST(ModelConfig, RejectsMoreExpertsPerTokenThanTheGroupsHold) {
  EXPECT_EQ(ErrorWith({{"n_group", 8}, {"topk_group", 1}}),
            "config.json: num_experts_per_tok: expected at most the experts of topk_group groups, "
            "2, found 4");
  EXPECT_EQ(ErrorWith({{"num_experts_per_tok", 17}}),
            "config.json: num_experts_per_tok: expected at most the experts of topk_group groups, "
            "16, found 17");
}

TEST(ModelConfig, RejectsBiases) {
  EXPECT_EQ(UnsupportedWith({{"attention_bias", true}}),
            "config.json: attention_bias: expected false, found true");
  EXPECT_EQ(UnsupportedWith({{"mlp_bias", true}}),
            "config.json: mlp_bias: expected false, found true");
}

TEST(ModelConfig, RejectsOtherQuantisationMethodsByName) {
  EXPECT_EQ(UnsupportedWith({{"quantization_config", {{"quant_method", "modelopt"}}}}),
            "config.json: quantization_config.quant_method: expected \"fp8\", found \"modelopt\"");
  EXPECT_EQ(UnsupportedWith({{"quantization_config", {{"quant_method", "compressed-tensors"}}}}),
            "config.json: quantization_config.quant_method: expected \"fp8\", found "
            "\"compressed-tensors\"");
  EXPECT_EQ(ErrorWith({{"quantization_config", Json::object()}}),
            "config.json: quantization_config.quant_method: expected \"fp8\", found nothing");
}

TEST(ModelConfig, RejectsOtherFp8Formats) {
  EXPECT_EQ(UnsupportedWith({{"quantization_config", {{"quant_method", "fp8"}, {"fmt", "e5m2"}}}}),
            "config.json: quantization_config.fmt: expected \"e4m3\", found \"e5m2\"");
}

TEST(ModelConfig, RejectsOtherFp8Blocks) {
  EXPECT_EQ(
      UnsupportedWith(
          {{"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {64, 128}}}}}),
      "config.json: quantization_config.weight_block_size: expected [128, 128], found [64, 128]");
}

TEST(ModelConfig, RejectsStaticActivationScales) {
  EXPECT_EQ(
      UnsupportedWith(
          {{"quantization_config", {{"quant_method", "fp8"}, {"activation_scheme", "static"}}}}),
      "config.json: quantization_config.activation_scheme: expected \"dynamic\", found \"static\"");
}

TEST(ModelConfig, RejectsIndexKeyPooling) {
  EXPECT_EQ(UnsupportedWith({{"index_kpool_size", 4}}),
            "config.json: index_kpool_size: expected no such key for glm_moe_dsa, found 4");
}

TEST(ModelConfig, RejectsHyperConnections) {
  EXPECT_EQ(UnsupportedWith({{"mhc", true}}),
            "config.json: mhc: expected no such key for glm_moe_dsa, found true");
  EXPECT_EQ(UnsupportedWith({{"hc_mult", 4}}),
            "config.json: hc_mult: expected no such key for glm_moe_dsa, found 4");
}

TEST(ModelConfig, RejectsLinearAttention) {
  EXPECT_EQ(
      UnsupportedWith({{"linear_attn_config", {{"kind", "kda"}}}}),
      "config.json: linear_attn_config: expected no such key for glm_moe_dsa, found an object");
}

TEST(ModelConfig, RejectsAttentionWithoutPositions) {
  EXPECT_EQ(UnsupportedWith({{"mla_use_nope", true}}),
            "config.json: mla_use_nope: expected false, found true");
}

TEST(ModelConfig, RejectsClampedActivation) {
  EXPECT_EQ(UnsupportedWith({{"swiglu_limit", 7.0}}),
            "config.json: swiglu_limit: expected no such key for glm_moe_dsa, found 7.0");
}

TEST(ModelConfig, RejectsOtherLayerTypes) {
  EXPECT_EQ(UnsupportedWith({{"layer_types", {"deepseek_sparse_attention", "sliding_attention"}}}),
            "config.json: layer_types[1]: expected \"deepseek_sparse_attention\" or "
            "\"indexed_attention\", "
            "found \"sliding_attention\"");
}

TEST(ModelConfig, RejectsUnknownNetworkType) {
  EXPECT_EQ(ErrorWith({{"mlp_layer_types", {"dense", "moe", "sparse", "sparse"}}}),
            "config.json: mlp_layer_types[1]: expected \"dense\" or \"sparse\", found \"moe\"");
}

TEST(ModelConfig, RejectsShortNetworkTypes) {
  EXPECT_EQ(
      ErrorWith({{"mlp_layer_types", {"dense", "sparse"}}}),
      "config.json: mlp_layer_types: expected at least 4 entries, found [\"dense\", \"sparse\"]");
}

TEST(ModelConfig, RejectsEpsilonOutOfRange) {
  EXPECT_EQ(ErrorWith({{"rms_norm_eps", 0}}),
            "config.json: rms_norm_eps: expected a number in [1e-12, 1], found 0");
}

TEST(ModelConfig, RejectsScalingOutOfRange) {
  EXPECT_EQ(
      ErrorWith({{"routed_scaling_factor", -2.5}}),
      "config.json: routed_scaling_factor: expected a number in [1e-06, 1000000], found -2.5");
}

TEST(ModelConfig, RejectsFlagsThatAreNotBooleans) {
  EXPECT_EQ(ErrorWith({{"norm_topk_prob", 1}}),
            "config.json: norm_topk_prob: expected true or false, found 1");
  EXPECT_EQ(ErrorWith({{"tie_word_embeddings", "false"}}),
            "config.json: tie_word_embeddings: expected true or false, found \"false\"");
}

}  // namespace
}  // namespace coli
