// Counts what a cache policy sees, for the statistics that outlive a run. The policy decides as
// without it. Engine thread only.
#pragma once

#include <memory>
#include <vector>

#include "store/cache_policy.h"
#include "store/usage.h"

namespace coli {

class UsageCounter final : public CachePolicy {
 public:
  // A layer's worths are looked at once in so many tokens: an average over a session needs no more.
  static constexpr uint32_t kTokensPerSample = 16;

  explicit UsageCounter(std::unique_ptr<CachePolicy> policy) : policy_(std::move(policy)) {}

  // Since the last Forget: uses, and the mean of the worths that were looked at; experts of a layer
  // that nothing was routed in have a score of 0.
  UsageTable Work() const;
  void Forget();
  std::vector<size_t> experts_by_layer() const;

  void Prepare(std::span<const size_t> experts_by_layer) override;
  uint64_t MemoryBytes(std::span<const size_t> experts_by_layer) const override;
  void OnRoute(LayerId layer, std::span<const float> scores) override;
  void OnUse(ExpertKey key) override;
  void OnInsert(ExpertKey key) override { policy_->OnInsert(key); }
  void OnRemove(ExpertKey key) override { policy_->OnRemove(key); }
  std::optional<ExpertKey> Victim(PinnedExperts pinned) const override {
    return policy_->Victim(pinned);
  }
  double Worth(ExpertKey key) const override { return policy_->Worth(key); }
  std::string_view name() const override { return policy_->name(); }

 private:
  struct Layer {
    uint32_t tokens = 0;  // routed
    uint32_t samples = 0;
  };

  const std::unique_ptr<CachePolicy> policy_;
  UsageTable sums_;  // scores: of the samples
  std::vector<Layer> layers_;
};

}  // namespace coli
