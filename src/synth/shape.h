// Shapes of synthetic models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coli {

// The sizes of a glm_moe_dsa model; the names are those of its config.json.
struct SynthShape {
  uint32_t hidden_size = 0;
  uint32_t num_hidden_layers = 0;
  uint32_t first_k_dense_replace = 0;  // layers without experts, in front
  uint32_t intermediate_size = 0;      // of those
  uint32_t moe_intermediate_size = 0;
  uint32_t n_routed_experts = 0;
  uint32_t num_experts_per_tok = 0;
  uint32_t num_attention_heads = 0;
  uint32_t q_lora_rank = 0;
  uint32_t kv_lora_rank = 0;
  uint32_t qk_nope_head_dim = 0;
  uint32_t qk_rope_head_dim = 0;
  uint32_t v_head_dim = 0;
  uint32_t index_n_heads = 0;
  uint32_t index_head_dim = 0;
  uint32_t index_topk = 0;
  uint32_t max_position_embeddings = 0;
  uint32_t vocab_size = 0;

  bool IsSparse(uint32_t layer) const { return layer >= first_k_dense_replace; }
  // GLM-5.2's schedule: layers 0, 1, 2 and then every fourth have an indexer of their own.
  bool HasIndexer(uint32_t layer) const { return layer < 2 || (layer - 2) % 4 == 0; }
};

// "glm-5.2": the layers of the real model, to the element; "mid" and "tiny": the same kind of
// model, much smaller. Without a vocabulary. Nothing for other names.
std::optional<SynthShape> NamedShape(std::string_view name);
std::string ShapeNames();  // for messages: "glm-5.2, mid, tiny"

// Tokens of the vocabulary of the published model with these layers; 0: there is none.
uint32_t PublishedVocabulary(std::string_view name);

// `config.json` of such a model.
std::string ConfigText(const SynthShape& shape);

}  // namespace coli
