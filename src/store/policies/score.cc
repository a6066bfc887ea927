// An expert is worth what the router is expected to choose next (routing_forecast.h), times how
// soon the next chance to be chosen is: of two equally likely experts the one whose layer comes
// first takes a place for less time until it pays.
//
// A probability is what a byte of cache is worth, too: bytes saved are probability times size, and
// bytes taken are size. So experts of all sizes compare by it.
#include <cmath>
#include <vector>

#include "store/cache_policy.h"
#include "store/routing_forecast.h"
#include "store/worth_table.h"

namespace coli {
namespace {

class ScorePolicy final : public CachePolicy {
 public:
  explicit ScorePolicy(const ScoreParameters& parameters) : parameters_(parameters) {}

  void Prepare(std::span<const size_t> experts_by_layer) override {
    expected_.Prepare(experts_by_layer);
    forecasts_.reserve(experts_by_layer.size());
    turn_.reserve(experts_by_layer.size());
    size_t turns = 0;
    for (const size_t experts : experts_by_layer) {
      forecasts_.emplace_back(experts, parameters_);
      turn_.push_back(turns);
      turns += experts > 0 ? 1U : 0U;
    }
    for (size_t distance = 0; distance <= turns; ++distance) {
      const double tokens = static_cast<double>(distance) / static_cast<double>(turns);
      soon_.push_back(static_cast<float>(std::exp(-parameters_.impatience * tokens)));
    }
  }

  uint64_t MemoryBytes(std::span<const size_t> experts_by_layer) const override {
    uint64_t bytes = WorthTable::Bytes(experts_by_layer);
    for (const size_t experts : experts_by_layer) {
      bytes += RoutingForecast::Bytes(experts, parameters_);
    }
    return bytes;
  }

  void OnRoute(LayerId layer, std::span<const float> scores) override {
    RoutingForecast& forecast = forecasts_[static_cast<size_t>(Raw(layer))];
    forecast.Observe(scores);
    expected_.Update(layer, [&](std::span<float> worth) {
      std::ranges::copy(forecast.expected(), worth.begin());
    });
    now_ = turn_[static_cast<size_t>(Raw(layer))];
  }

  void OnUse(ExpertKey) override {}
  void OnInsert(ExpertKey key) override { expected_.SetResident(key, true); }
  void OnRemove(ExpertKey key) override { expected_.SetResident(key, false); }
  std::optional<ExpertKey> Victim(PinnedExperts pinned) const override {
    return expected_.Least(pinned, [this](LayerId layer) { return Soon(layer); });
  }
  double Worth(ExpertKey key) const override { return expected_.Worth(key) * Soon(key.layer); }
  std::string_view name() const override { return "score"; }

 private:
  // Layers are routed in turn; the last one that was has its next turn after all others.
  float Soon(LayerId layer) const {
    const size_t turn = turn_[static_cast<size_t>(Raw(layer))];
    const size_t turns = soon_.size() - 1;
    return soon_[turn > now_ ? turn - now_ : turn + turns - now_];
  }

  const ScoreParameters parameters_;
  std::vector<RoutingForecast> forecasts_;  // [layers]
  std::vector<size_t> turn_;                // [layers] among those with experts
  std::vector<float> soon_;                 // [turns + 1] by how many turns it takes
  size_t now_ = 0;                          // turn of the layer that was routed last
  WorthTable expected_;
};

}  // namespace

std::unique_ptr<CachePolicy> MakeScorePolicy(const ScoreParameters& parameters) {
  return std::make_unique<ScorePolicy>(parameters);
}

}  // namespace coli
