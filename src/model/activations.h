// The intermediate values of one step, named after the paper's boxes and allocated once for the
// largest step. Engine thread only.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/model_config.h"
#include "sys/aligned_buffer.h"
#include "tensor/tensor_view.h"

namespace coli {

// Every view has room for `rows` rows (more where a comment says so).
struct Activations {
  MatrixView x;              // [rows, H]: the residual stream
  MatrixView normed;         // [rows, H]
  MatrixView mixed;          // [rows, H]: output of attention or feed-forward
  MatrixView q_latent;       // [rows, Rq]
  MatrixView q;              // [rows, nh D]
  MatrixView kv;             // [rows, R + P]
  MatrixView heads;          // [rows, nh V]
  MatrixView index_q;        // [rows, nI dI]
  MatrixView index_k;        // [rows, dI]
  MatrixView index_weights;  // [rows, nI]
  MatrixView router;         // [rows, E]
  MatrixView ffn_inner;      // [2 rows, widest feed-forward]
  MatrixView expert_in;      // [rows, H]: the rows that chose one expert, side by side
  MatrixView expert_out;     // [rows, H]
  MatrixView expert_outs;    // [rows k, H]: outputs of the chosen experts, by row and rank
  MatrixView joined;         // [rows, 2H]: embedding and hidden of an MTP layer
  MatrixView rope_cos;       // [rows, P / 2]: of each row's position
  MatrixView rope_sin;       // [rows, P / 2]
  MatrixView hidden;         // [logit_rows, H]: after the final norm, of rows that want logits
  MatrixView logits;         // [logit_rows, vocab]

  AlignedBuffer buffer;

  // Room for steps of `rows` rows of which `logit_rows` want logits.
  static Result<Activations> Create(const ModelConfig& config, uint32_t rows, uint32_t logit_rows);
  static uint64_t Bytes(const ModelConfig& config, uint32_t rows, uint32_t logit_rows);
};

// The widest input of any product of the model, in columns; for Backend::Reserve.
uint32_t WidestInput(const ModelConfig& config);

}  // namespace coli
