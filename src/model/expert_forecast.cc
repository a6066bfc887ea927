#include "model/expert_forecast.h"

#include <algorithm>
#include <limits>

namespace coli {

ForecastScratch::ForecastScratch(const ModelConfig& config, RouteScratch::Sigmoid sigmoid)
    : normed(size_t{ExpertForecast::kMaxRows} * config.hidden_size),
      logits(size_t{ExpertForecast::kMaxRows} * config.router.experts),
      best(config.router.experts),
      ranked(config.router.experts),
      chosen(config.router.experts_per_token),
      route(config.router, sigmoid) {}

ExpertForecast::ExpertForecast(const ModelConfig& config, const LayerWeights& weights, LayerId id,
                               Backend& backend, ExpertStore& store)
    : config_(config), w_(weights), id_(id), backend_(backend), store_(store) {}

void ExpertForecast::Make(const Step& step, Moment moment, ForecastScratch& scratch) const {
  if (step.rows() == 0 || step.rows() > kMaxRows || !store_.WantsGuesses() ||
      !Score(step, scratch)) {
    return;
  }
  const size_t experts = scratch.best.size();
  const size_t per_row = moment == Moment::kEarly ? kEarlyRanks : config_.router.experts_per_token;
  const size_t count = std::min(experts, per_row * step.rows());
  scratch.ranked.resize(experts);
  for (size_t e = 0; e < experts; ++e) {
    scratch.ranked[e] = ExpertId{static_cast<int32_t>(e)};
  }
  std::ranges::partial_sort(
      scratch.ranked, scratch.ranked.begin() + static_cast<std::ptrdiff_t>(count),
      std::ranges::greater{},
      [&](ExpertId id) { return scratch.best[static_cast<size_t>(Raw(id))]; });
  store_.Guess(id_, std::span(scratch.ranked).first(count));
}

// scratch.best: of every expert the highest selection score that a row gives it. False when a score
// is not finite, which will be an error where it counts.
bool ExpertForecast::Score(const Step& step, ForecastScratch& scratch) const {
  const uint32_t rows = step.rows();
  const uint32_t hidden = config_.hidden_size;
  const uint32_t experts = config_.router.experts;
  const MatrixView normed{scratch.normed.data(), rows, hidden, hidden};
  const MatrixView logits{scratch.logits.data(), rows, experts, experts};
  for (uint32_t r = 0; r < rows; ++r) {
    backend_.vector().rms_norm(step.a.x.row(r), w_.post_attention_norm.data(), config_.rms_norm_eps,
                               normed.row(r), hidden);
  }
  backend_.MatMul(normed, w_.moe->router, logits);
  std::ranges::fill(scratch.best, -std::numeric_limits<float>::infinity());
  for (uint32_t r = 0; r < rows; ++r) {
    if (!Route(config_.router, logits.row(r), w_.moe->correction_bias.data(), scratch.route,
               scratch.chosen.data())) {
      return false;
    }
    std::ranges::transform(scratch.best, scratch.route.choices, scratch.best.begin(),
                           [](float a, float b) { return std::max(a, b); });
  }
  return true;
}

}  // namespace coli
