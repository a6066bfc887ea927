#include "synth/shape.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace coli {
namespace {

constexpr SynthShape kGlm52{.hidden_size = 6144,
                            .num_hidden_layers = 78,
                            .first_k_dense_replace = 3,
                            .intermediate_size = 12288,
                            .moe_intermediate_size = 2048,
                            .n_routed_experts = 256,
                            .num_experts_per_tok = 8,
                            .num_attention_heads = 64,
                            .q_lora_rank = 2048,
                            .kv_lora_rank = 512,
                            .qk_nope_head_dim = 192,
                            .qk_rope_head_dim = 64,
                            .v_head_dim = 256,
                            .index_n_heads = 32,
                            .index_head_dim = 128,
                            .index_topk = 2048,
                            .max_position_embeddings = 1'048'576};
constexpr SynthShape kMid{.hidden_size = 2048,
                          .num_hidden_layers = 8,
                          .first_k_dense_replace = 1,
                          .intermediate_size = 6144,
                          .moe_intermediate_size = 768,
                          .n_routed_experts = 64,
                          .num_experts_per_tok = 8,
                          .num_attention_heads = 16,
                          .q_lora_rank = 768,
                          .kv_lora_rank = 512,
                          .qk_nope_head_dim = 128,
                          .qk_rope_head_dim = 64,
                          .v_head_dim = 128,
                          .index_n_heads = 16,
                          .index_head_dim = 128,
                          .index_topk = 1024,
                          .max_position_embeddings = 131'072};
constexpr SynthShape kTiny{.hidden_size = 256,
                           .num_hidden_layers = 4,
                           .first_k_dense_replace = 1,
                           .intermediate_size = 512,
                           .moe_intermediate_size = 128,
                           .n_routed_experts = 16,
                           .num_experts_per_tok = 4,
                           .num_attention_heads = 4,
                           .q_lora_rank = 128,
                           .kv_lora_rank = 64,
                           .qk_nope_head_dim = 32,
                           .qk_rope_head_dim = 16,
                           .v_head_dim = 32,
                           .index_n_heads = 4,
                           .index_head_dim = 32,
                           .index_topk = 64,
                           .max_position_embeddings = 4096};
constexpr std::array<std::pair<std::string_view, SynthShape>, 3> kShapes = {
    {{"glm-5.2", kGlm52}, {"mid", kMid}, {"tiny", kTiny}}};

}  // namespace

std::optional<SynthShape> NamedShape(std::string_view name) {
  for (const auto& [known, shape] : kShapes) {
    if (known == name) {
      return shape;
    }
  }
  return std::nullopt;
}

std::string ShapeNames() {
  std::string names;
  for (const auto& [name, shape] : kShapes) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return names;
}

uint32_t PublishedVocabulary(std::string_view name) { return name == "glm-5.2" ? 154'880 : 0; }

std::string ConfigText(const SynthShape& s) {
  OrderedJson feed_forward = OrderedJson::array();
  OrderedJson indexers = OrderedJson::array();
  for (uint32_t layer = 0; layer < s.num_hidden_layers; ++layer) {
    feed_forward.push_back(s.IsSparse(layer) ? "sparse" : "dense");
    indexers.push_back(s.HasIndexer(layer) ? "full" : "shared");
  }
  const OrderedJson config = {
      {"architectures", {"GlmMoeDsaForCausalLM"}},
      {"model_type", "glm_moe_dsa"},
      {"vocab_size", s.vocab_size},
      {"eos_token_id", OrderedJson::array()},  // none: answers of any length
      {"hidden_size", s.hidden_size},
      {"num_hidden_layers", s.num_hidden_layers},
      {"first_k_dense_replace", s.first_k_dense_replace},
      {"mlp_layer_types", std::move(feed_forward)},
      {"intermediate_size", s.intermediate_size},
      {"moe_intermediate_size", s.moe_intermediate_size},
      {"n_routed_experts", s.n_routed_experts},
      {"num_experts_per_tok", s.num_experts_per_tok},
      {"n_shared_experts", 1},
      {"n_group", 1},
      {"topk_group", 1},
      {"norm_topk_prob", true},
      {"routed_scaling_factor", 2.5},
      {"scoring_func", "sigmoid"},
      {"topk_method", "noaux_tc"},
      {"num_attention_heads", s.num_attention_heads},
      {"num_key_value_heads", s.num_attention_heads},
      {"q_lora_rank", s.q_lora_rank},
      {"kv_lora_rank", s.kv_lora_rank},
      {"qk_nope_head_dim", s.qk_nope_head_dim},
      {"qk_rope_head_dim", s.qk_rope_head_dim},
      {"qk_head_dim", s.qk_nope_head_dim + s.qk_rope_head_dim},
      {"v_head_dim", s.v_head_dim},
      {"attention_bias", false},
      {"rope_parameters", {{"rope_theta", 8e6}, {"rope_type", "default"}}},
      {"rope_interleave", true},
      {"indexer_rope_interleave", true},
      {"index_n_heads", s.index_n_heads},
      {"index_head_dim", s.index_head_dim},
      {"index_topk", s.index_topk},
      {"indexer_types", std::move(indexers)},
      {"num_nextn_predict_layers", 0},
      {"max_position_embeddings", s.max_position_embeddings},
      {"rms_norm_eps", 1e-5},
      {"hidden_act", "silu"},
      {"tie_word_embeddings", false},
      {"dtype", "float32"}};
  return config.dump(2) + "\n";
}

}  // namespace coli
