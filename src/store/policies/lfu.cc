#include "store/cache_policy.h"
#include "store/worth_table.h"

namespace coli {
namespace {

class LfuPolicy final : public CachePolicy {
 public:
  explicit LfuPolicy(LfuParameters parameters) : decay_(static_cast<float>(parameters.decay)) {}

  void Prepare(std::span<const size_t> experts_by_layer) override {
    counts_.Prepare(experts_by_layer);
  }

  uint64_t MemoryBytes(std::span<const size_t> experts_by_layer) const override {
    return WorthTable::Bytes(experts_by_layer);
  }

  void OnRoute(LayerId layer, std::span<const float>) override {
    counts_.Update(layer, [&](std::span<float> counts) {
      for (float& count : counts) {
        count *= decay_;
      }
    });
  }

  void OnUse(ExpertKey key) override {
    counts_.Update(key.layer, [&](std::span<float> counts) {
      counts[static_cast<size_t>(Raw(key.expert))] += 1.0F;
    });
  }

  void OnInsert(ExpertKey key) override { counts_.SetResident(key, true); }
  void OnRemove(ExpertKey key) override { counts_.SetResident(key, false); }
  std::optional<ExpertKey> Victim(PinnedExperts pinned) const override {
    return counts_.Least(pinned);
  }
  double Worth(ExpertKey key) const override { return counts_.Worth(key); }
  std::string_view name() const override { return "lfu"; }

 private:
  const float decay_;
  WorthTable counts_;
};

}  // namespace

std::unique_ptr<CachePolicy> MakeLfuPolicy(LfuParameters parameters) {
  return std::make_unique<LfuPolicy>(parameters);
}

}  // namespace coli
