// One decoder layer: attention and feed-forward around the residual stream.
//
// Source: GLM-5.2 report; order as in transformers' GlmMoeDsaDecoderLayer.
#pragma once

#include <optional>

#include "model/attention_mla.h"
#include "model/expert_forecast.h"
#include "model/indexer.h"
#include "model/mixture_of_experts.h"

namespace coli {

// Working memory that the layers of one model share, one layer at a time.
struct LayerScratch {
  AttentionScratch attention;
  IndexerScratch indexer;
  ExpertPlan plan;
  RouteScratch route;
  ForecastScratch forecast;
  bool explicit_attention;

  // `expert_window`: rows of Activations::expert_outs.
  static Result<LayerScratch> Create(const ModelConfig& config, Backend& backend, uint32_t max_rows,
                                     uint32_t expert_window, uint32_t context,
                                     bool explicit_attention);
};

class Layer {
 public:
  // References must outlive the layer.
  Layer(const ModelConfig& config, const LayerWeights& weights, LayerId id, Backend& backend,
        ExpertStore& store);

  // The layer that comes next, if it has experts: they are forecast while this one is computed.
  // References must outlive the layer.
  void SetNext(const LayerWeights& weights, LayerId id, ExpertStore& store);

  // step.a.x: the residual stream, updated in place. Layers without an indexer use the selection
  // that the step holds. Attention is computed block by block, the feed-forward network for all
  // rows together. When nobody waits for the rows any more, it may end before they are computed.
  // Errors name the layer.
  Status Run(Step& step, LayerScratch& scratch) const;

 private:
  Status Attention(Step& block, LayerScratch& scratch) const;
  Status FeedForward(Step& step, LayerScratch& scratch) const;
  void Normalize(Step& step, const std::vector<float>& weight) const;  // x -> normed
  void AddToResidual(Step& step) const;                                // x += mixed
  Status CheckFinite(const Step& step) const;

  const ModelConfig& config_;
  const LayerWeights& w_;
  const LayerId id_;
  Backend& backend_;
  LatentAttention attention_;
  std::optional<Indexer> indexer_;
  std::optional<MixtureOfExperts> experts_;
  std::optional<ExpertForecast> next_;
};

}  // namespace coli
