#include "store/usage_counter.h"

#include <algorithm>

namespace coli {

UsageTable UsageCounter::Work() const {
  UsageTable work = sums_;
  for (size_t layer = 0; layer < work.size(); ++layer) {
    for (ExpertUsage& expert : work[layer]) {
      expert.score /= std::max(layers_[layer].samples, 1U);
    }
  }
  return work;
}

void UsageCounter::Forget() {
  for (auto& layer : sums_) {
    std::ranges::fill(layer, ExpertUsage{});
  }
  std::ranges::fill(layers_, Layer{});
}

std::vector<size_t> UsageCounter::experts_by_layer() const {
  std::vector<size_t> counts;
  for (const auto& layer : sums_) {
    counts.push_back(layer.size());
  }
  return counts;
}

void UsageCounter::Prepare(std::span<const size_t> experts_by_layer) {
  sums_ = EmptyUsage(experts_by_layer);
  layers_.assign(experts_by_layer.size(), {});
  policy_->Prepare(experts_by_layer);
}

uint64_t UsageCounter::MemoryBytes(std::span<const size_t> experts_by_layer) const {
  uint64_t bytes = policy_->MemoryBytes(experts_by_layer);
  for (const size_t experts : experts_by_layer) {
    bytes += sizeof(Layer) + experts * sizeof(ExpertUsage);
  }
  return bytes;
}

void UsageCounter::OnRoute(LayerId layer, std::span<const float> scores) {
  policy_->OnRoute(layer, scores);
  const auto index = static_cast<size_t>(Raw(layer));
  if (++layers_[index].tokens % kTokensPerSample != 0) {
    return;
  }
  ++layers_[index].samples;
  for (size_t expert = 0; expert < sums_[index].size(); ++expert) {
    sums_[index][expert].score += policy_->Worth({layer, ExpertId{static_cast<int32_t>(expert)}});
  }
}

void UsageCounter::OnUse(ExpertKey key) {
  policy_->OnUse(key);
  ++sums_[static_cast<size_t>(Raw(key.layer))][static_cast<size_t>(Raw(key.expert))].uses;
}

}  // namespace coli
