#include "model/forward.h"

#include <algorithm>

#include "base/check.h"

namespace coli {

Result<std::unique_ptr<Forward>> Forward::Create(const ModelConfig& config,
                                                 const ModelWeights& weights,
                                                 const ForwardOptions& options, Backend& backend,
                                                 ExpertStore& store) {
  COLI_RETURN_IF_ERROR(backend.Reserve(BackendRoomFor(config)));
  COLI_ASSIGN_OR_RETURN(ActivationMemory activations,
                        ActivationMemory::Create(config, options.max_rows, options.max_logit_rows));
  COLI_ASSIGN_OR_RETURN(
      LayerScratch scratch,
      LayerScratch::Create(config, backend, options.max_rows, activations.views.expert_outs.rows,
                           options.context, options.explicit_attention));
  return std::unique_ptr<Forward>(new Forward(config, weights, backend, store,
                                              std::move(activations), std::move(scratch), options));
}

uint64_t Forward::ScratchBytes(const ModelConfig& config, const ForwardOptions& options,
                               size_t threads) {
  return Backend::ScratchBytes(BackendRoomFor(config)) +
         ActivationMemory::Bytes(config, options.max_rows, options.max_logit_rows) +
         ExpertPlan::Bytes(config, options.max_rows) +
         AttentionScratch::Bytes(config, threads, options.context) +
         SelectionMemory::Bytes(options.max_rows, std::min(config.indexer.top_k, options.context)) +
         IndexerScratch::Bytes(config, threads, options.context);
}

Forward::Forward(const ModelConfig& config, const ModelWeights& weights, Backend& backend,
                 ExpertStore& store, ActivationMemory activations, LayerScratch scratch,
                 const ForwardOptions& options)
    : config_(config),
      weights_(weights),
      backend_(backend),
      rope_(config.attention.rope_theta, config.attention.qk_rope_head_dim),
      activations_(std::move(activations)),
      scratch_(std::move(scratch)),
      selection_(options.max_rows, std::min(config.indexer.top_k, options.context)) {
  layers_.reserve(weights.layers.size());
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    layers_.emplace_back(config, weights.layers[i], LayerId{static_cast<int32_t>(i)}, backend,
                         store);
  }
  for (size_t i = 0; i + 1 < layers_.size(); ++i) {
    layers_[i].SetNext(weights.layers[i + 1], LayerId{static_cast<int32_t>(i + 1)}, store);
  }
}

Result<StepResult> Forward::Run(Batch batch, const LayerObserver& observer) {
  const Activations& a = activations_.views;
  COLI_CHECK(batch.rows.size() <= a.x.rows);
  Step step(batch, a, selection_.view());
  Rotate(step);
  for (size_t r = 0; r < step.rows(); ++r) {
    Embed(step.row(r).token, a.x.row(r));
  }
  for (size_t i = 0; i < layers_.size() && step.rows() > 0; ++i) {
    COLI_RETURN_IF_ERROR(layers_[i].Run(step, scratch_));
    if (observer) {
      observer(LayerId{static_cast<int32_t>(i)}, batch, step.Of(a.x));
    }
    DropCancelled(step);
  }
  return Logits(step);
}

void Forward::Embed(TokenId token, float* out) const {
  DecodeRow(weights_.embed, static_cast<uint32_t>(Raw(token)), out);
}

void Forward::Rotate(Step& step) const {
  for (size_t r = 0; r < step.rows(); ++r) {
    const uint32_t position = step.cache(r).first_position() + step.row(r).position;
    rope_.Angles(position, step.a.rope_cos.row(r), step.a.rope_sin.row(r));
  }
}

void Forward::DropCancelled(Step& step) const {
  std::vector<BatchRow>& rows = step.batch.rows;
  const auto gone = [&](const BatchRow& row) {
    return step.batch.cancelled && step.batch.cancelled(row.sequence);
  };
  size_t kept = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (gone(rows[r])) {
      continue;
    }
    if (kept != r) {  // what a row carries from layer to layer
      rows[kept] = rows[r];
      std::copy_n(step.a.x.row(r), step.a.x.cols, step.a.x.row(kept));
      std::copy_n(step.a.rope_cos.row(r), step.a.rope_cos.cols, step.a.rope_cos.row(kept));
      std::copy_n(step.a.rope_sin.row(r), step.a.rope_sin.cols, step.a.rope_sin.row(kept));
      step.selection.Move(r, kept);
    }
    ++kept;
  }
  rows.resize(kept);
  step.count = static_cast<uint32_t>(kept);
}

StepResult Forward::Logits(Step& step) {
  const Activations& a = step.a;
  StepResult result;
  for (size_t r = 0; r < step.rows(); ++r) {
    if (!step.row(r).wants_logits) {
      continue;
    }
    COLI_CHECK(result.rows.size() < a.logits.rows);
    backend_.vector().rms_norm(a.x.row(r), weights_.final_norm.data(), config_.rms_norm_eps,
                               a.hidden.row(result.rows.size()), a.x.cols);
    result.rows.push_back(step.row(r));
  }
  const auto rows = static_cast<uint32_t>(result.rows.size());
  result.hidden = a.hidden.Rows(0, rows);
  result.logits = a.logits.Rows(0, rows);
  if (rows > 0) {
    backend_.MatMul(result.hidden, weights_.lm_head, a.logits.Rows(0, rows));
  }
  return result;
}

}  // namespace coli
