// The immutable facts of a checkpoint, read from config.json and generation_config.json and
// validated as a whole.
//
// After Parse has succeeded every size is positive and bounded, every relation between sizes holds,
// and no product of sizes that the program forms overflows. Unknown values of known keys are
// errors, never defaults. Thread-safe (const).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"

namespace coli {

enum class IndexerKind : uint8_t {
  kFull,    // computes its own selection of keys
  kShared,  // uses the selection of the nearest full layer below
};
enum class FfnKind : uint8_t { kDense, kSparse };

struct LayerConfig {
  IndexerKind indexer;
  FfnKind ffn;
};

struct AttentionConfig {      // MLA, multi-head latent attention
  uint32_t heads;             // nh
  uint32_t q_lora_rank;       // Rq
  uint32_t kv_lora_rank;      // R
  uint32_t qk_nope_head_dim;  // N
  uint32_t qk_rope_head_dim;  // P, even
  uint32_t v_head_dim;        // V
  float rope_theta;
  uint32_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }  // D
  uint32_t latent_dim() const {
    return kv_lora_rank + qk_rope_head_dim;
  }  // values cached per position
};

struct IndexerConfig {  // lightning indexer of DSA
  uint32_t heads;       // nI
  uint32_t head_dim;    // dI, at least P
  uint32_t top_k;       // K, keys that a query may attend to
};

struct RouterConfig {
  uint32_t experts;            // E
  uint32_t experts_per_token;  // k
  uint32_t groups;             // n_group, divides E
  uint32_t top_groups;         // topk_group
  bool normalize;              // norm_topk_prob
  float scale;                 // routed_scaling_factor
};

struct ModelConfig {
  std::string model_type;  // "glm_moe_dsa"
  uint32_t vocab_size;
  uint32_t hidden_size;  // H
  uint32_t dense_intermediate_size;
  uint32_t expert_intermediate_size;  // I
  uint32_t shared_experts;            // fused into one network of width I * shared_experts; 0: none
  uint32_t max_positions;
  bool tied_embeddings;
  float rms_norm_eps;
  float latent_norm_eps;  // of q_a_layernorm and kv_a_layernorm; rms_norm_eps unless an option says
                          // otherwise
  AttentionConfig attention;
  IndexerConfig indexer;
  RouterConfig router;
  std::vector<LayerConfig> layers;  // main layers
  uint32_t mtp_layers;              // follow the main layers; always full and sparse
  std::vector<TokenId> eos_tokens;  // union of config and generation_config
  // generation_config.json; absent there: nothing here
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<uint32_t> top_k;
  std::vector<std::string>
      warnings;  // what was accepted but deserves a line, e.g. indexer_types against the formula

  uint32_t num_layers() const { return static_cast<uint32_t>(layers.size()); }
  // Kind of a layer, MTP layers included.
  LayerConfig layer(LayerId id) const;
};

// Overrides that change what the model computes; part of its identity.
struct ModelOverrides {
  std::optional<float> latent_norm_eps;
};

// `generation` may be null. Errors name the key, the value and what is accepted.
Result<ModelConfig> ParseModelConfig(const Json& config, const Json* generation,
                                     std::string_view source, const ModelOverrides& overrides = {});

// Reads DIR/config.json and, if there, DIR/generation_config.json.
Result<ModelConfig> LoadModelConfig(const std::filesystem::path& directory,
                                    const ModelOverrides& overrides = {});

}  // namespace coli
