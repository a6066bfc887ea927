#include "model/activations.h"

#include <algorithm>

#include "base/checked_math.h"

namespace coli {
namespace {

// Cuts views out of a buffer one after the other; with no buffer it only adds up.
class Layout {
 public:
  explicit Layout(float* base) : base_(base) {}

  void Place(MatrixView& view, uint64_t rows, uint64_t cols) {
    const uint64_t stride = AlignUp(cols, 16);  // rows start on cache lines
    view = {base_ == nullptr ? nullptr : base_ + floats_, static_cast<uint32_t>(rows),
            static_cast<uint32_t>(cols), stride};
    floats_ += rows * stride;
  }
  uint64_t bytes() const { return floats_ * sizeof(float); }

 private:
  float* base_;
  uint64_t floats_ = 0;
};

uint32_t WidestFfn(const ModelConfig& config) {
  return std::max({config.dense_intermediate_size, config.expert_intermediate_size,
                   config.expert_intermediate_size * config.shared_experts});
}

uint64_t PlaceAll(const ModelConfig& config, uint32_t rows, uint32_t logit_rows, Activations& a,
                  float* base) {
  const AttentionConfig& attention = config.attention;
  const IndexerConfig& indexer = config.indexer;
  const uint32_t hidden = config.hidden_size;
  Layout layout(base);
  layout.Place(a.x, rows, hidden);
  layout.Place(a.normed, rows, hidden);
  layout.Place(a.mixed, rows, hidden);
  layout.Place(a.q_latent, rows, attention.q_lora_rank);
  layout.Place(a.q, rows, attention.heads * attention.qk_head_dim());
  layout.Place(a.kv, rows, attention.latent_dim());
  layout.Place(a.heads, rows, attention.heads * attention.v_head_dim);
  layout.Place(a.index_q, rows, indexer.heads * indexer.head_dim);
  layout.Place(a.index_k, rows, indexer.head_dim);
  layout.Place(a.index_weights, rows, indexer.heads);
  layout.Place(a.router, rows, config.router.experts);
  layout.Place(a.ffn_inner, 2 * uint64_t{rows}, WidestFfn(config));
  layout.Place(a.expert_in, rows, hidden);
  layout.Place(a.expert_out, rows, hidden);
  layout.Place(a.expert_outs, uint64_t{rows} * config.router.experts_per_token, hidden);
  layout.Place(a.joined, config.mtp_layers != 0 ? rows : 0, 2 * uint64_t{hidden});
  layout.Place(a.rope_cos, rows, attention.qk_rope_head_dim / 2);
  layout.Place(a.rope_sin, rows, attention.qk_rope_head_dim / 2);
  layout.Place(a.hidden, logit_rows, hidden);
  layout.Place(a.logits, logit_rows, config.vocab_size);
  return layout.bytes();
}

}  // namespace

uint64_t Activations::Bytes(const ModelConfig& config, uint32_t rows, uint32_t logit_rows) {
  Activations unplaced;
  return PlaceAll(config, rows, logit_rows, unplaced, nullptr);
}

Result<Activations> Activations::Create(const ModelConfig& config, uint32_t rows,
                                        uint32_t logit_rows) {
  Activations a;
  COLI_ASSIGN_OR_RETURN(a.buffer, AlignedBuffer::Allocate(Bytes(config, rows, logit_rows)));
  PlaceAll(config, rows, logit_rows, a, a.buffer.floats());
  return a;
}

uint32_t WidestInput(const ModelConfig& config) {
  const AttentionConfig& attention = config.attention;
  return std::max({2 * config.hidden_size, attention.q_lora_rank,
                   attention.heads * attention.v_head_dim, attention.kv_lora_rank,
                   WidestFfn(config)});
}

}  // namespace coli
