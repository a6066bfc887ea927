// Which experts a layer will likely ask for, said before its attention has run: its norm and its
// router, applied to the residual stream as it is. Changes what is read, never what is computed.
// Engine thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "model/model_config.h"
#include "model/router.h"
#include "model/step.h"
#include "model/weights.h"
#include "store/expert_store.h"

namespace coli {

// Working memory for all layers of a model, one at a time.
struct ForecastScratch {
  explicit ForecastScratch(const ModelConfig& config, RouteScratch::Sigmoid sigmoid);

  std::vector<float> normed;  // [rows, H]
  std::vector<float> logits;  // [rows, E]
  std::vector<float> best;    // [E]: of all rows
  std::vector<ExpertId> ranked;
  std::vector<ExpertChoice> chosen;
  RouteScratch route;
};

class ExpertForecast {
 public:
  // Steps of more rows are prompts; their layers ask for most experts anyway.
  static constexpr uint32_t kMaxRows = 4;
  // Experts for each row. Before the experts of the layer before have been added to the residual
  // stream only the first ranks are likely enough (`kEarly`); after that, as many as a token gets.
  enum class Moment : uint8_t { kEarly, kLate };

  // Of the layer `id`, which has experts. References must outlive this.
  ExpertForecast(const ModelConfig& config, const LayerWeights& weights, LayerId id,
                 Backend& backend, ExpertStore& store);

  // Tells the store what step.a.x says, if the store has use for it.
  void Make(const Step& step, Moment moment, ForecastScratch& scratch) const;

 private:
  static constexpr size_t kEarlyRanks = 2;

  bool Score(const Step& step, ForecastScratch& scratch) const;

  const ModelConfig& config_;
  const LayerWeights& w_;
  const LayerId id_;
  Backend& backend_;
  ExpertStore& store_;
};

}  // namespace coli
