// The always-used weights of a model, resident in RAM in their stored formats, and the directory of
// its experts.
//
// Names and shapes of every tensor are written down in one place (weights.cc); locating, sizing and
// loading all walk it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/model_config.h"
#include "store/container.h"
#include "store/expert_store.h"
#include "sys/aligned_buffer.h"
#include "sys/thread_pool.h"
#include "tensor/tensor_view.h"

namespace coli {

struct AttentionWeights {
  WeightView q_a;                // [Rq, H]
  std::vector<float> q_a_norm;   // [Rq]
  WeightView q_b;                // [nh (N + P), Rq], per head N nope rows, then P rope rows
  WeightView kv_a;               // [R + P, H], latent rows, then the rope key's
  std::vector<float> kv_a_norm;  // [R]
  WeightView kv_b;               // [nh (N + V), R], per head N key rows, then V value rows
  WeightView o;                  // [H, nh V]
};

struct IndexerWeights {
  WeightView wq_b;                 // [nI dI, Rq], per head P rope rows first
  WeightView wk;                   // [dI, H], P rope rows first
  std::vector<float> k_norm;       // [dI]
  std::vector<float> k_norm_bias;  // [dI]
  WeightView weights_proj;         // [nI, H]
};

struct MoeWeights {
  WeightView router;                   // [E, H]
  std::vector<float> correction_bias;  // [E]
  std::optional<FfnView> shared;       // inner width I * shared_experts
};

struct LayerWeights {
  std::vector<float> input_norm;  // [H]
  AttentionWeights attention;
  std::optional<IndexerWeights> indexer;   // full layers
  std::vector<float> post_attention_norm;  // [H]
  std::optional<FfnView> dense;            // exactly one of dense and moe
  std::optional<MoeWeights> moe;
};

struct MtpWeights {
  std::vector<float> enorm;  // [H], of the token's embedding
  std::vector<float> hnorm;  // [H], of the hidden state
  WeightView eh_proj;        // [H, 2H], embedding first
  LayerWeights layer;
  std::vector<float> head_norm;  // [H], shared_head.norm
};

struct ModelWeights {
  WeightView embed;  // [vocab, H]
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // [H]
  WeightView lm_head;             // [vocab, H]; the embedding's when tied
  std::vector<MtpWeights> mtp;
  AlignedBuffer bytes;  // what the views point into
};

// The number formats that matrices are to be held in; none: those they are stored in. What chooses
// (the router, the indexer's weights_proj), norms and biases stay as they are.
struct HeldFormats {
  std::optional<Format> experts;
  std::optional<Format> dense;  // of what every token uses
};

// One tensor, as it will be held.
struct WeightEntry {
  std::string name;
  Format format;
  uint64_t bytes = 0;
};
WeightEntry EntryOf(const StoredMatrix& matrix);

// Everything of a model that the container holds, found and checked, nothing read yet.
struct WeightCatalog {
  HeldFormats formats;
  std::vector<WeightEntry> dense;  // always used, in the order of the forward pass
  uint64_t matrix_bytes = 0;       // what LoadWeights will take for matrices
  uint64_t vector_bytes = 0;       // and for norms and biases, widened to f32
  ExpertDirectory experts;         // by layer, MTP layers included when asked for
  uint64_t expert_bytes = 0;       // of all, as they are held in RAM
  uint64_t largest_expert_bytes = 0;
  uint64_t largest_staging_bytes = 0;     // what reading an expert takes besides; 0: none converts
  uint64_t largest_conversion_bytes = 0;  // of all matrices that convert: ConversionBytes
  uint64_t expert_count = 0;
};

// Errors name the missing or mismatched tensor, its file, what was expected and found. Refuses
// checkpoints with tensors that mean something else than is computed here (projection biases,
// scales of other ways to quantise), and to convert what is quantised.
Result<WeightCatalog> LocateWeights(const ModelConfig& config, const Container& container,
                                    bool with_mtp, const HeldFormats& formats = {});

// Reads all always-used weights, and converts them in the threads of `pool`; `catalog` was made
// with the same `with_mtp`. `progress` is called with bytes done and in all.
Result<ModelWeights> LoadWeights(const ModelConfig& config, const Container& container,
                                 const WeightCatalog& catalog, bool with_mtp, ThreadPool& pool,
                                 const std::function<void(uint64_t, uint64_t)>& progress = {});

}  // namespace coli
