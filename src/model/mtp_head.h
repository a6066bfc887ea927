// The multi-token-prediction layer: from the main model's hidden state at position i and the token
// at i + 1 it predicts the token at i + 2.
//
//   y = eh_proj [ norm(embed(token)) ; norm(hidden) ]     embedding first
//   y = layer(y)                                          rope position i; own latents, own
//                                                         indexer, own selection
//   out = norm(y),  logits = lm_head out
//
// `hidden` is the main model's state *after* its final norm; to draft deeper, `out` takes its
// place. Engine thread only. Source: DeepSeek-V3 report, section 2.2; order as in transformers'
// generic MTP modules.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/forward.h"

namespace coli {

// One row. `cache` is the sequence's: the MTP layer has its own rows in it.
struct MtpRow {
  KvCache* cache = nullptr;
  TokenId next_token{};   // the token at position + 1
  uint32_t position = 0;  // of the hidden state; all earlier rows are there or precede this one
  const float* hidden = nullptr;  // [H], normed
};

struct MtpResult {
  ConstMatrixView hidden;  // [rows, H]: out
  ConstMatrixView logits;  // [rows, vocab]
};

class MtpHead {
 public:
  // References must outlive the head. `index`: which MTP layer of the model; the model's weights
  // hold it.
  MtpHead(const ModelConfig& config, const ModelWeights& weights, uint32_t index, Forward& forward,
          Backend& backend, ExpertStore& store);

  // At most as many rows as the forward pass has logit rows; results are valid until the next step
  // of either. The hidden states given may be those of the last result.
  Result<MtpResult> Run(const std::vector<MtpRow>& rows);

 private:
  const ModelConfig& config_;
  const ModelWeights& weights_;
  const MtpWeights& w_;
  Forward& forward_;
  Backend& backend_;
  Layer layer_;
};

}  // namespace coli
