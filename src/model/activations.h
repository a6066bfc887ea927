// The intermediate values of one step, named after the paper's boxes and allocated once for the
// largest step. Engine thread only.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "base/result.h"
#include "model/model_config.h"
#include "sys/aligned_buffer.h"
#include "tensor/tensor_view.h"

namespace coli {

// Rows that attention computes together. Its intermediate values are large; what it reads of the
// weights is small beside them.
inline constexpr uint32_t kAttentionRows = 64;

// Views of them. "rows" is what the longest step has; a block is at most kAttentionRows of these.
struct Activations {
  MatrixView x;              // [rows, H]: the residual stream
  MatrixView normed;         // [rows, H]
  MatrixView mixed;          // [rows, H]: output of attention or feed-forward
  MatrixView rope_cos;       // [rows, P / 2]: of each row's position
  MatrixView rope_sin;       // [rows, P / 2]
  MatrixView q_latent;       // [block, Rq]
  MatrixView q;              // [block, nh D]
  MatrixView kv;             // [block, R + P]
  MatrixView heads;          // [block, nh V]
  MatrixView index_q;        // [block, nI dI]
  MatrixView index_k;        // [block, dI]
  MatrixView index_weights;  // [block, nI]
  MatrixView router;         // [block, E]
  MatrixView expert_outs;    // [window, H]: outputs of experts that are not summed yet
  MatrixView joined;         // [logit_rows, 2H]: embedding and hidden of an MTP layer
  MatrixView hidden;         // [logit_rows, H]: after the final norm, of rows that want logits
  MatrixView logits;         // [logit_rows, vocab]

  // The same, but what has a row for each of the step's begins with row `row`.
  Activations From(uint32_t row) const;
};

// The bytes behind them.
struct ActivationMemory {
  Activations views;
  AlignedBuffer buffer;

  // Room for steps of `rows` rows of which `logit_rows` want logits.
  static Result<ActivationMemory> Create(const ModelConfig& config, uint32_t rows,
                                         uint32_t logit_rows);
  static uint64_t Bytes(const ModelConfig& config, uint32_t rows, uint32_t logit_rows);
};

// The working memory that a step needs from the backend.
BackendRoom BackendRoomFor(const ModelConfig& config);

}  // namespace coli
