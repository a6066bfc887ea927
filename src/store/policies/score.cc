// An expert is worth what the router expects of it: the exponential average over tokens of
// softmax(score / temperature) over its layer's experts. It counts near misses in proportion, which
// are likely choices of the next token. The softmax makes layers comparable and the best experts
// stand out: raw scores lie close together, and their average says little more than recency.
//
// A probability is what a byte of cache is worth, too: bytes saved are probability times size, and
// bytes taken are size. So experts of all sizes compare by it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "store/cache_policy.h"
#include "store/worth_table.h"

namespace coli {
namespace {

class ScorePolicy final : public CachePolicy {
 public:
  explicit ScorePolicy(ScoreParameters parameters)
      : decay_(static_cast<float>(parameters.decay)),
        sharpness_(static_cast<float>(1.0 / parameters.temperature)) {}

  void Prepare(std::span<const size_t> experts_by_layer) override {
    averages_.Prepare(experts_by_layer);
    shares_.resize(experts_by_layer.empty() ? 0 : std::ranges::max(experts_by_layer));
  }

  void OnRoute(LayerId layer, std::span<const float> scores) override {
    averages_.Update(layer, [&](std::span<float> averages) {
      COLI_CHECK(scores.size() == averages.size());
      const float best = std::ranges::max(scores);
      float sum = 0;
      for (size_t e = 0; e < scores.size(); ++e) {
        shares_[e] = std::exp((scores[e] - best) * sharpness_);
        sum += shares_[e];
      }
      const float gain = (1 - decay_) / sum;
      for (size_t e = 0; e < scores.size(); ++e) {
        averages[e] = decay_ * averages[e] + gain * shares_[e];
      }
    });
  }

  void OnUse(ExpertKey) override {}
  void OnInsert(ExpertKey key) override { averages_.SetResident(key, true); }
  void OnRemove(ExpertKey key) override { averages_.SetResident(key, false); }
  std::optional<ExpertKey> Victim(PinnedExperts pinned) const override {
    return averages_.Least(pinned);
  }
  double Worth(ExpertKey key) const override { return averages_.Worth(key); }
  std::string_view name() const override { return "score"; }

 private:
  const float decay_;
  const float sharpness_;
  WorthTable averages_;
  std::vector<float> shares_;  // of one layer, before they are divided by their sum
};

}  // namespace

std::unique_ptr<CachePolicy> MakeScorePolicy(ScoreParameters parameters) {
  return std::make_unique<ScorePolicy>(parameters);
}

}  // namespace coli
