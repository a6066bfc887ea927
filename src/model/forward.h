// The forward pass: tokens in, logits out, one batch at a time. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "model/layer.h"
#include "model/rope.h"

namespace coli {

struct ForwardOptions {
  uint32_t max_rows = 256;      // of one step
  uint32_t max_logit_rows = 8;  // of those, rows that may want logits
  uint32_t context = 0;         // the largest number of positions of a sequence
  bool explicit_attention = false;
};

// Sees the residual stream after each layer. For comparing with a reference.
using LayerObserver = std::function<void(LayerId layer, const Batch& batch, ConstMatrixView x)>;

// What a step leaves behind; valid until the next one.
struct StepResult {
  std::vector<BatchRow> rows;  // those that wanted logits and were not cancelled, in batch order
  ConstMatrixView hidden;      // [rows, H]: after the final norm
  ConstMatrixView logits;      // [rows, vocab]
};

class Forward {
 public:
  // References must outlive the result.
  static Result<std::unique_ptr<Forward>> Create(const ModelConfig& config,
                                                 const ModelWeights& weights,
                                                 const ForwardOptions& options, Backend& backend,
                                                 ExpertStore& store);
  // Bytes that Create takes; for the memory plan.
  static uint64_t ScratchBytes(const ModelConfig& config, const ForwardOptions& options,
                               size_t threads);

  // Runs `batch` through all layers and appends to its caches. Rows of cancelled sequences are
  // dropped between layers: the other rows do not notice. At most max_rows rows, of which
  // max_logit_rows want logits. Errors name the layer; the caches then hold rows that are not
  // valid, at the positions of this batch only.
  Result<StepResult> Run(Batch batch, const LayerObserver& observer = {});

  // For layers outside the main stack (MTP), which share the working memory.
  const Activations& activations() const { return activations_.views; }
  LayerScratch& scratch() { return scratch_; }
  Selection selection() { return selection_.view(); }
  // Token embeddings, widened. out: [H].
  void Embed(TokenId token, float* out) const;
  // Fills the rope angles of the step's rows.
  void Rotate(Step& step) const;

 private:
  Forward(const ModelConfig& config, const ModelWeights& weights, Backend& backend,
          ExpertStore& store, ActivationMemory activations, LayerScratch scratch,
          const ForwardOptions& options);
  void DropCancelled(Step& step) const;
  StepResult Logits(Step& step);

  const ModelConfig& config_;
  const ModelWeights& weights_;
  Backend& backend_;
  std::vector<Layer> layers_;
  RopeTable rope_;
  ActivationMemory activations_;
  LayerScratch scratch_;
  SelectionMemory selection_;
};

}  // namespace coli
