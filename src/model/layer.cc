#include "model/layer.h"

#include <algorithm>
#include <cmath>

namespace coli {

Result<LayerScratch> LayerScratch::Create(const ModelConfig& config, Backend& backend,
                                          uint32_t max_rows, uint32_t expert_window,
                                          uint32_t context, bool explicit_attention) {
  COLI_ASSIGN_OR_RETURN(AttentionScratch attention,
                        AttentionScratch::Create(config, backend.pool().threads(), context));
  return LayerScratch{std::move(attention),
                      IndexerScratch(config, backend.pool().threads(), context),
                      ExpertPlan(config, max_rows, expert_window),
                      RouteScratch(config.router, backend.vector().sigmoid),
                      ForecastScratch(config, backend.vector().sigmoid),
                      explicit_attention};
}

Layer::Layer(const ModelConfig& config, const LayerWeights& weights, LayerId id, Backend& backend,
             ExpertStore& store)
    : config_(config),
      w_(weights),
      id_(id),
      backend_(backend),
      attention_(config, weights.attention, id, backend) {
  if (weights.indexer) {
    indexer_.emplace(config, *weights.indexer, id, backend);
  }
  if (weights.moe) {
    experts_.emplace(config, *weights.moe, id, backend, store);
  }
}

void Layer::SetNext(const LayerWeights& weights, LayerId id, ExpertStore& store) {
  if (weights.moe) {
    next_.emplace(config_, weights, id, backend_, store);
  }
}

Status Layer::Run(Step& step, LayerScratch& scratch) const {
  for (uint32_t first = 0; first < step.rows(); first += kAttentionRows) {
    Step block = step.Block(first, std::min(kAttentionRows, step.rows() - first));
    COLI_RETURN_IF_ERROR(Attention(block, scratch));
    if (step.Abandoned()) {
      return Ok();
    }
  }
  Normalize(step, w_.post_attention_norm);
  COLI_RETURN_IF_ERROR(FeedForward(step, scratch));
  if (step.Abandoned()) {  // not all experts were computed
    return Ok();
  }
  AddToResidual(step);
  if (next_) {
    next_->Make(step, ExpertForecast::Moment::kLate, scratch.forecast);
  }
  return CheckFinite(step);
}

// Earlier rows of a sequence lie in earlier blocks, and so in the cache.
Status Layer::Attention(Step& block, LayerScratch& scratch) const {
  Normalize(block, w_.input_norm);
  attention_.Project(block);
  if (indexer_) {
    indexer_->Project(block);
    COLI_RETURN_IF_ERROR(indexer_->Select(block, scratch.indexer));
  }
  attention_.Attend(block, scratch.attention, scratch.explicit_attention);
  AddToResidual(block);
  return Ok();
}

Status Layer::FeedForward(Step& step, LayerScratch& scratch) const {
  if (!experts_) {
    backend_.Ffn(*w_.dense, step.Of(step.a.normed), step.Of(step.a.mixed));
    return Ok();
  }
  const auto while_reading = [&] {
    if (next_) {
      next_->Make(step, ExpertForecast::Moment::kEarly, scratch.forecast);
    }
  };
  return experts_->Run(step, scratch.plan, scratch.route, while_reading);
}

void Layer::Normalize(Step& step, const std::vector<float>& weight) const {
  const Activations& a = step.a;
  backend_.ForRows(step.rows(), [&](size_t r) {
    backend_.vector().rms_norm(a.x.row(r), weight.data(), config_.rms_norm_eps, a.normed.row(r),
                               a.x.cols);
  });
}

void Layer::AddToResidual(Step& step) const {
  const Activations& a = step.a;
  backend_.ForRows(step.rows(),
                   [&](size_t r) { backend_.vector().add(a.mixed.row(r), a.x.row(r), a.x.cols); });
}

// A value that is not finite would spread silently; here the layer that made it is still known.
Status Layer::CheckFinite(const Step& step) const {
  for (size_t r = 0; r < step.rows(); ++r) {
    const float* const x = step.a.x.row(r);
    for (uint32_t i = 0; i < step.a.x.cols; ++i) {
      if (!std::isfinite(x[i])) {
        return Fail(
            ErrorCode::kNumeric,
            "layer {}, position {}: the residual stream is not finite; are the weights damaged?",
            Raw(id_), step.row(r).position);
      }
    }
  }
  return Ok();
}

}  // namespace coli
