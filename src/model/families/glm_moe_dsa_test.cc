#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/checked_math.h"
#include "model/model_config.h"

namespace coli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What GLM-5.2's config.json says, dead keys included.
Json Glm52() {
  Json config =
      Json::parse(R"({"architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa",
      "hidden_size": 6144, "num_hidden_layers": 78, "num_attention_heads": 64,
      "num_key_value_heads": 64, "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim":
      192, "qk_rope_head_dim": 64, "v_head_dim": 256, "qk_head_dim": 256, "head_dim": 192,
      "intermediate_size": 12288, "moe_intermediate_size": 2048, "n_routed_experts": 256,
      "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
      "moe_layer_freq": 1, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "n_group": 1,
      "topk_group": 1, "norm_topk_prob": true, "routed_scaling_factor": 2.5, "moe_router_dtype":
      "float32", "rms_norm_eps": 1e-5, "hidden_act": "silu", "attention_bias": false,
      "max_position_embeddings": 1048576, "rope_parameters": {"rope_theta": 8000000,
      "rope_type": "default"}, "rope_interleave": true, "indexer_rope_interleave": true,
      "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "index_topk_freq": 4,
      "index_skip_topk_offset": 3, "index_topk_pattern": null, "index_share_for_mtp_iteration":
      true, "num_nextn_predict_layers": 1, "vocab_size": 154880, "tie_word_embeddings": false,
      "eos_token_id": [154820, 154827, 154829], "pad_token_id": 154820, "dtype": "bfloat16",
      "pretraining_tp": 1, "ep_size": 1, "initializer_range": 0.02, "attention_dropout": 0.0,
      "use_cache": true, "transformers_version": "5.12.0"})");
  for (int i = 0; i < 78; ++i) {
    config["indexer_types"].push_back(i < 3 || i % 4 == 2 ? "full" : "shared");
    config["mlp_layer_types"].push_back(i < 3 ? "dense" : "sparse");
  }
  return config;
}

// A small model with the keys that have no default.
Json Small(const Json& changes = Json::object()) {
  Json config = Json::parse(R"({"model_type": "glm_moe_dsa", "vocab_size": 256, "hidden_size":
      64, "intermediate_size": 96, "moe_intermediate_size": 48, "num_hidden_layers": 8,
      "num_attention_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 24, "qk_nope_head_dim": 12,
      "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 16, "num_experts_per_tok": 4,
      "rope_theta": 5000, "eos_token_id": 7})");
  config.update(changes);
  return config;
}

Result<ModelConfig> Parse(const Json& config) {
  return ParseModelConfig(config, nullptr, "config.json");
}

// The error that the small model has with `changes`.
std::string ErrorWith(const Json& changes) {
  const auto parsed = Parse(Small(changes));
  return parsed ? "accepted" : parsed.error().message;
}

std::string IndexersOf(const Result<ModelConfig>& config) {
  if (!config) {
    return config.error().message;
  }
  std::string letters;
  for (const LayerConfig& layer : config->layers) {
    letters += layer.indexer == IndexerKind::kFull ? 'F' : 'S';
  }
  return letters;
}

std::string FfnsOf(const Result<ModelConfig>& config) {
  if (!config) {
    return config.error().message;
  }
  std::string letters;
  for (const LayerConfig& layer : config->layers) {
    letters += layer.ffn == FfnKind::kDense ? 'd' : 's';
  }
  return letters;
}

TEST(ModelConfig, ReadsGlm52) {
  const auto parsed = Parse(Glm52());

  ASSERT_TRUE(parsed) << parsed.error().message;
  const ModelConfig& c = *parsed;
  EXPECT_THAT(c.warnings, IsEmpty());
  EXPECT_EQ(c.hidden_size, 6144u);
  EXPECT_EQ(c.vocab_size, 154880u);
  EXPECT_EQ(c.dense_intermediate_size, 12288u);
  EXPECT_EQ(c.expert_intermediate_size, 2048u);
  EXPECT_EQ(c.shared_experts, 1u);
  EXPECT_EQ(c.max_positions, 1048576u);
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_EQ(c.rms_norm_eps, 1e-5F);
  EXPECT_EQ(c.attention.heads, 64u);
  EXPECT_EQ(c.attention.q_lora_rank, 2048u);
  EXPECT_EQ(c.attention.qk_head_dim(), 256u);
  EXPECT_EQ(c.attention.latent_dim(), 576u);
  EXPECT_EQ(c.attention.v_head_dim, 256u);
  EXPECT_EQ(c.attention.rope_theta, 8e6F);
  EXPECT_EQ(c.indexer.heads, 32u);
  EXPECT_EQ(c.indexer.head_dim, 128u);
  EXPECT_EQ(c.indexer.top_k, 2048u);
  EXPECT_EQ(c.router.experts, 256u);
  EXPECT_EQ(c.router.experts_per_token, 8u);
  EXPECT_TRUE(c.router.normalize);
  EXPECT_EQ(c.router.scale, 2.5F);
  EXPECT_EQ(c.mtp_layers, 1u);
  EXPECT_THAT(c.eos_tokens, ElementsAre(TokenId{154820}, TokenId{154827}, TokenId{154829}));
}

TEST(ModelConfig, Glm52ListAndFormulaGiveTheSame21FullLayers) {
  const auto listed = Parse(Glm52());
  Json config = Glm52();
  config.erase("indexer_types");
  const auto computed = Parse(config);

  EXPECT_EQ(IndexersOf(listed), IndexersOf(computed));
  EXPECT_EQ(std::ranges::count(IndexersOf(listed), 'F'), 21);
  EXPECT_EQ(IndexersOf(listed).substr(0, 11), "FFFSSSFSSSF");
  EXPECT_EQ(IndexersOf(listed).substr(74), "FSSS");
}

TEST(ModelConfig, AbsentKeysHaveTheDefaultsOfTheReferenceClass) {
  const auto c = Parse(Small());

  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(IndexersOf(c), "FFFFFFFF");
  EXPECT_EQ(FfnsOf(c), "dddsssss");
  EXPECT_EQ(c->shared_experts, 1u);
  EXPECT_EQ(c->max_positions, 202752u);
  EXPECT_EQ(c->indexer.heads, 32u);
  EXPECT_EQ(c->indexer.head_dim, 128u);
  EXPECT_EQ(c->indexer.top_k, 2048u);
  EXPECT_EQ(c->router.groups, 1u);
  EXPECT_EQ(c->router.top_groups, 1u);
  EXPECT_TRUE(c->router.normalize);
  EXPECT_EQ(c->router.scale, 2.5F);
  EXPECT_EQ(c->rms_norm_eps, 1e-5F);
  EXPECT_EQ(c->mtp_layers, 0u);
  EXPECT_FALSE(c->tied_embeddings);
  EXPECT_THAT(c->warnings, IsEmpty());
}

TEST(ModelConfig, ShapesHaveNoDefaults) {
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "moe_intermediate_size",
                          "num_hidden_layers", "num_attention_heads", "q_lora_rank", "kv_lora_rank",
                          "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "n_routed_experts",
                          "num_experts_per_tok"}) {
    Json config = Small();
    config.erase(key);
    const auto parsed = Parse(config);
    ASSERT_FALSE(parsed) << key;
    EXPECT_THAT(parsed.error().message,
                HasSubstr(fmt::format("config.json: {}: expected an integer", key)));
  }
}

TEST(ModelConfig, NullSharedExpertsMeansNone) {
  EXPECT_EQ(Parse(Small({{"n_shared_experts", nullptr}}))->shared_experts, 0u);
  EXPECT_EQ(Parse(Small({{"n_shared_experts", 0}}))->shared_experts, 0u);
  EXPECT_EQ(Parse(Small({{"n_shared_experts", 2}}))->shared_experts, 2u);
}

TEST(ModelConfig, ExpertCountHasThreeSpellings) {
  Json config = Small();
  config.erase("n_routed_experts");
  config["num_local_experts"] = 32;
  EXPECT_EQ(Parse(config)->router.experts, 32u);
  config["num_experts"] = 32;
  EXPECT_EQ(Parse(config)->router.experts, 32u);
}

TEST(ModelConfig, RejectsExpertCountsThatDisagree) {
  EXPECT_EQ(
      ErrorWith({{"num_experts", 17}}),
      "config.json: num_experts: expected the same value as in n_routed_experts, 16, found 17");
}

TEST(ModelConfig, OldAndNewRopeSpellingsAreEquivalent) {
  Json renewed = Small({{"rope_parameters", {{"rope_theta", 5000}, {"rope_type", "default"}}}});
  renewed.erase("rope_theta");

  EXPECT_EQ(Parse(Small({{"rope_scaling", nullptr}}))->attention.rope_theta, 5000.0F);
  EXPECT_EQ(Parse(Small({{"rope_scaling", {{"type", "default"}}}}))->attention.rope_theta, 5000.0F);
  EXPECT_EQ(Parse(renewed)->attention.rope_theta, 5000.0F);
}

TEST(ModelConfig, RopeParametersWinOverTheOldThetaWithAWarning) {
  const auto parsed =
      Parse(Small({{"rope_parameters", {{"rope_theta", 8e6}, {"rope_type", nullptr}}}}));

  EXPECT_EQ(parsed->attention.rope_theta, 8e6F);
  EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr("rope_parameters.rope_theta is 8000000")));
}

TEST(ModelConfig, OldThetaIsUsedWhenRopeParametersHaveNone) {
  const auto parsed = Parse(Small({{"rope_parameters", {{"rope_type", "default"}}}}));

  EXPECT_EQ(parsed->attention.rope_theta, 5000.0F);
  EXPECT_THAT(parsed->warnings, IsEmpty());
}

TEST(ModelConfig, WithoutThetaItIsTenThousandWithAWarning) {
  const auto parsed = Parse(Small({{"rope_theta", nullptr}}));

  EXPECT_EQ(parsed->attention.rope_theta, 10000.0F);
  EXPECT_THAT(parsed->warnings, ElementsAre("config.json: no rope_theta: using 10000"));
}

TEST(ModelConfig, HeadDimIsNeverUsed) {
  EXPECT_EQ(Parse(Small({{"head_dim", 77}}))->attention.qk_head_dim(), 20u);
  EXPECT_EQ(Parse(Small({{"head_dim", "garbage"}}))->attention.qk_head_dim(), 20u);
}

TEST(ModelConfig, ScheduleOfTheReferenceTest) {
  EXPECT_EQ(IndexersOf(Parse(Small({{"index_topk_freq", 4}, {"index_skip_topk_offset", 3}}))),
            "FFFSSSFS");
}

TEST(ModelConfig, ScheduleOffsetIsTwoWhenAbsent) {
  EXPECT_EQ(IndexersOf(Parse(Small({{"index_topk_freq", 2}}))), "FFSFSFSF");
}

TEST(ModelConfig, ScheduleFrequencyZeroAndNullMeanOne) {
  EXPECT_EQ(IndexersOf(Parse(Small({{"index_topk_freq", 0}}))), "FFFFFFFF");
  EXPECT_EQ(IndexersOf(Parse(Small({{"index_topk_freq", nullptr}}))), "FFFFFFFF");
}

TEST(ModelConfig, SchedulePatternBeatsTheFormula) {
  const auto words = std::vector<std::string>{"full",   "full",   "shared", "full",
                                              "shared", "shared", "full",   "full"};

  EXPECT_EQ(IndexersOf(Parse(Small({{"index_topk_freq", 4}, {"index_topk_pattern", "FFSFSSFF"}}))),
            "FFSFSSFF");
  EXPECT_EQ(IndexersOf(Parse(Small({{"index_topk_freq", 4}, {"index_topk_pattern", words}}))),
            "FFSFSSFF");
}

TEST(ModelConfig, ScheduleListBeatsPatternAndFormulaWithAWarning) {
  const Json types{"full", "shared", "shared", "full", "shared", "shared", "full", "full"};

  const auto formula = Parse(
      Small({{"indexer_types", types}, {"index_topk_freq", 4}, {"index_skip_topk_offset", 3}}));
  const auto pattern = Parse(Small({{"indexer_types", types}, {"index_topk_pattern", "FSSFSSSS"}}));

  EXPECT_EQ(IndexersOf(formula), "FSSFSSFF");
  EXPECT_THAT(
      formula->warnings,
      ElementsAre("config.json: indexer_types and index_topk_freq disagree from layer 1 on: "
                  "using indexer_types"));
  EXPECT_EQ(IndexersOf(pattern), "FSSFSSFF");
  EXPECT_THAT(pattern->warnings,
              ElementsAre(HasSubstr("index_topk_pattern disagree from layer 6 on")));
}

TEST(ModelConfig, ScheduleListMayGoOnBeyondTheMainLayers) {
  const auto types = std::vector<std::string>{"full", "full", "shared", "shared", "shared",
                                              "full", "full", "shared", "shared"};

  EXPECT_EQ(IndexersOf(Parse(Small({{"indexer_types", types}}))), "FFSSSFFS");
}

TEST(ModelConfig, LayerTypesOfNetworksBeatFirstKDense) {
  const Json types{"sparse", "dense", "sparse", "sparse", "dense", "sparse", "sparse", "sparse"};

  EXPECT_EQ(FfnsOf(Parse(Small({{"mlp_layer_types", types}, {"first_k_dense_replace", 5}}))),
            "sdssdsss");
  EXPECT_EQ(FfnsOf(Parse(Small({{"first_k_dense_replace", 0}}))), "ssssssss");
  EXPECT_EQ(FfnsOf(Parse(Small({{"first_k_dense_replace", 100}}))), "dddddddd");
}

TEST(ModelConfig, MtpLayersAreFullAndSparse) {
  const auto parsed = Parse(Small({{"num_nextn_predict_layers", 2},
                                   {"index_topk_pattern", "FSSSSSSS"},
                                   {"first_k_dense_replace", 100}}));

  EXPECT_EQ(parsed->layer(LayerId{7}).indexer, IndexerKind::kShared);
  for (const LayerId id : {LayerId{8}, LayerId{9}}) {
    EXPECT_EQ(parsed->layer(id).indexer, IndexerKind::kFull);
    EXPECT_EQ(parsed->layer(id).ffn, FfnKind::kSparse);
  }
}

TEST(ModelConfig, AcceptsTheLayerTypesOfThisFamily) {
  EXPECT_TRUE(
      Parse(Small({{"layer_types", std::vector<std::string>(8, "deepseek_sparse_attention")}})));
  EXPECT_TRUE(Parse(Small({{"layer_types", std::vector<std::string>(8, "indexed_attention")}})));
}

TEST(ModelConfig, AcceptsTheQuantizationFactsOfTheFp8Checkpoint) {
  const Json facts{{"quant_method", "fp8"},
                   {"fmt", "e4m3"},
                   {"activation_scheme", "dynamic"},
                   {"weight_block_size", {128, 128}},
                   {"modules_to_not_convert", {"lm_head"}}};

  EXPECT_TRUE(Parse(Small({{"quantization_config", facts}})));
  EXPECT_TRUE(Parse(Small({{"quantization_config", nullptr}})));
}

TEST(ModelConfig, AcceptsFeaturesThatAreSwitchedOff) {
  EXPECT_TRUE(Parse(Small(
      {{"mla_use_nope", false}, {"swiglu_limit", nullptr}, {"mhc", false}, {"mlp_bias", false}})));
}

TEST(ModelConfig, LargestSizesDoNotOverflow) {
  const auto largest = Parse(Small({{"vocab_size", 1 << 21},
                                    {"hidden_size", 1 << 16},
                                    {"intermediate_size", 1 << 20},
                                    {"moe_intermediate_size", 1 << 17},
                                    {"num_attention_heads", 1024},
                                    {"q_lora_rank", 1 << 15},
                                    {"kv_lora_rank", 1 << 15},
                                    {"qk_nope_head_dim", 4096},
                                    {"qk_rope_head_dim", 4096},
                                    {"v_head_dim", 4096},
                                    {"index_n_heads", 1024},
                                    {"index_head_dim", 4096},
                                    {"n_routed_experts", 4096},
                                    {"n_shared_experts", 64},
                                    {"max_position_embeddings", 1 << 24},
                                    {"num_hidden_layers", 1024},
                                    {"num_nextn_predict_layers", 16}}));

  ASSERT_TRUE(largest) << largest.error().message;
  const ModelConfig& c = *largest;
  const AttentionConfig& a = c.attention;
  constexpr uint64_t kMaxRows = UINT32_MAX;
  EXPECT_LE(uint64_t{a.heads} * (a.qk_nope_head_dim + a.v_head_dim), kMaxRows);
  EXPECT_LE(uint64_t{a.heads} * a.qk_head_dim(), kMaxRows);
  EXPECT_LE(uint64_t{c.indexer.heads} * c.indexer.head_dim, kMaxRows);
  EXPECT_LE(uint64_t{c.expert_intermediate_size} * c.shared_experts, kMaxRows);
  const uint64_t layers = c.num_layers() + c.mtp_layers;
  EXPECT_TRUE(
      CheckedProduct({3, 4, layers, c.router.experts, c.expert_intermediate_size, c.hidden_size}));
  EXPECT_TRUE(CheckedProduct({4, layers, c.max_positions, a.latent_dim()}));
  EXPECT_TRUE(CheckedProduct({4, layers, a.heads, a.qk_head_dim() + a.v_head_dim, a.kv_lora_rank}));
}

TEST(ModelConfig, RejectsEverySizeOutOfRange) {
  for (const char* key : {"vocab_size",
                          "hidden_size",
                          "intermediate_size",
                          "moe_intermediate_size",
                          "num_hidden_layers",
                          "num_attention_heads",
                          "num_key_value_heads",
                          "q_lora_rank",
                          "kv_lora_rank",
                          "qk_nope_head_dim",
                          "qk_rope_head_dim",
                          "v_head_dim",
                          "index_n_heads",
                          "index_head_dim",
                          "index_topk",
                          "n_routed_experts",
                          "num_experts_per_tok",
                          "n_group",
                          "topk_group",
                          "max_position_embeddings",
                          "n_shared_experts",
                          "num_nextn_predict_layers",
                          "first_k_dense_replace",
                          "index_topk_freq",
                          "index_skip_topk_offset"}) {
    for (const Json& value :
         {Json(-1), Json((uint64_t{1} << 31) - 1), Json(uint64_t{1} << 31),
          Json((uint64_t{1} << 32) + 1), Json((uint64_t{1} << 53) + 1), Json(INT64_MIN),
          Json(UINT64_MAX), Json(1.5), Json(64.0), Json("many"), Json(true), Json(Json::array())}) {
      const std::string error = ErrorWith({{key, value}});
      EXPECT_THAT(error, HasSubstr(fmt::format("config.json: {}: expected an integer in [", key)))
          << value;
    }
  }
}

TEST(ModelConfig, RejectsZeroSizes) {
  for (const char* key :
       {"vocab_size", "hidden_size", "intermediate_size", "moe_intermediate_size",
        "num_hidden_layers", "num_attention_heads", "kv_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "v_head_dim", "n_routed_experts", "num_experts_per_tok", "n_group",
        "topk_group", "max_position_embeddings"}) {
    EXPECT_THAT(ErrorWith({{key, 0}}),
                HasSubstr(fmt::format("config.json: {}: expected an integer in [", key)));
  }
}

}  // namespace
}  // namespace coli
