#include "model/activations.h"

#include <algorithm>

#include "base/checked_math.h"

namespace coli {
namespace {

// Rows of one pass of products: enough to use what is read of a weight many times.
constexpr uint32_t kPassRows = 64;
// Outputs of experts that wait for their turn in the sum: more let experts be computed further out
// of order, which matters where they come from a drive.
constexpr uint64_t kWindowRows = 1024;

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
  const uint32_t block = std::min(rows, kAttentionRows);
  const uint64_t outputs =
      uint64_t{rows} * (config.router.experts_per_token + (config.shared_experts != 0 ? 1U : 0U));
  layout.Place(a.x, rows, hidden);
  layout.Place(a.normed, rows, hidden);
  layout.Place(a.mixed, rows, hidden);
  layout.Place(a.rope_cos, rows, attention.qk_rope_head_dim / 2);
  layout.Place(a.rope_sin, rows, attention.qk_rope_head_dim / 2);
  layout.Place(a.q_latent, block, attention.q_lora_rank);
  layout.Place(a.q, block, attention.heads * attention.qk_head_dim());
  layout.Place(a.kv, block, attention.latent_dim());
  layout.Place(a.heads, block, attention.heads * attention.v_head_dim);
  layout.Place(a.index_q, block, indexer.heads * indexer.head_dim);
  layout.Place(a.index_k, block, indexer.head_dim);
  layout.Place(a.index_weights, block, indexer.heads);
  layout.Place(a.router, block, config.router.experts);
  layout.Place(a.expert_outs, std::min(outputs, kWindowRows), hidden);
  layout.Place(a.joined, config.mtp_layers != 0 ? logit_rows : 0, 2 * uint64_t{hidden});
  layout.Place(a.hidden, logit_rows, hidden);
  layout.Place(a.logits, logit_rows, config.vocab_size);
  return layout.bytes();
}

}  // namespace

uint64_t ActivationMemory::Bytes(const ModelConfig& config, uint32_t rows, uint32_t logit_rows) {
  Activations unplaced;
  return PlaceAll(config, rows, logit_rows, unplaced, nullptr);
}

Result<ActivationMemory> ActivationMemory::Create(const ModelConfig& config, uint32_t rows,
                                                  uint32_t logit_rows) {
  ActivationMemory memory;
  COLI_ASSIGN_OR_RETURN(memory.buffer, AlignedBuffer::Allocate(Bytes(config, rows, logit_rows)));
  PlaceAll(config, rows, logit_rows, memory.views, memory.buffer.floats());
  return memory;
}

Activations Activations::From(uint32_t row) const {
  Activations from = *this;
  for (MatrixView Activations::* view : {&Activations::x, &Activations::normed, &Activations::mixed,
                                         &Activations::rope_cos, &Activations::rope_sin}) {
    from.*view = (this->*view).Rows(row, (this->*view).rows - row);
  }
  return from;
}

BackendRoom BackendRoomFor(const ModelConfig& config) {
  const AttentionConfig& attention = config.attention;
  return {.rows = kPassRows,
          .input_cols = std::max({2 * config.hidden_size, attention.q_lora_rank,
                                  attention.heads * attention.v_head_dim, attention.kv_lora_rank,
                                  WidestFfn(config)}),
          .inner_cols = WidestFfn(config)};
}

}  // namespace coli
