#include <limits>
#include <vector>

#include "base/check.h"
#include "store/cache_policy.h"
#include "store/expert_numbers.h"

namespace coli {
namespace {

// A list through all experts, by number: residents in the order of their last use, oldest first.
class LruPolicy final : public CachePolicy {
 public:
  void Prepare(std::span<const size_t> experts_by_layer) override {
    numbers_ = ExpertNumbers(experts_by_layer);
    nodes_.assign(numbers_.experts() + 1, {});
    for (size_t layer = 0; layer < numbers_.layers(); ++layer) {
      for (size_t i = numbers_.First(layer); i < numbers_.First(layer + 1); ++i) {
        nodes_[i].key = {LayerId{static_cast<int32_t>(layer)},
                         ExpertId{static_cast<int32_t>(i - numbers_.First(layer))}};
      }
    }
    nodes_[end()].older = nodes_[end()].newer = end();
  }

  uint64_t MemoryBytes(std::span<const size_t> experts_by_layer) const override {
    return ExpertNumbers(experts_by_layer).experts() * sizeof(Node);
  }

  void OnRoute(LayerId, std::span<const float>) override {}

  void OnUse(ExpertKey key) override {
    const size_t number = numbers_(key);
    nodes_[number].last_use = ++now_;
    if (nodes_[number].newer != kAbsent) {
      Unlink(number);
      Append(number);
    }
  }

  void OnInsert(ExpertKey key) override {
    const size_t number = numbers_(key);
    COLI_CHECK(nodes_[number].newer == kAbsent);
    nodes_[number].last_use = ++now_;
    Append(number);
  }

  void OnRemove(ExpertKey key) override {
    const size_t number = numbers_(key);
    COLI_CHECK(nodes_[number].newer != kAbsent);
    Unlink(number);
  }

  std::optional<ExpertKey> Victim(PinnedExperts pinned) const override {
    for (size_t number = nodes_[end()].newer; number != end(); number = nodes_[number].newer) {
      if (!pinned(nodes_[number].key)) {
        return nodes_[number].key;
      }
    }
    return std::nullopt;
  }

  double Worth(ExpertKey key) const override {
    return static_cast<double>(nodes_[numbers_(key)].last_use);
  }

  std::string_view name() const override { return "lru"; }

 private:
  static constexpr size_t kAbsent = std::numeric_limits<size_t>::max();

  struct Node {
    size_t older = kAbsent;
    size_t newer = kAbsent;
    uint64_t last_use = 0;
    ExpertKey key{};
  };

  size_t end() const { return numbers_.experts(); }  // closes the list to a ring

  void Append(size_t number) {
    Node& last = nodes_[end()];
    nodes_[number].older = last.older;
    nodes_[number].newer = end();
    nodes_[last.older].newer = number;
    last.older = number;
  }

  void Unlink(size_t number) {
    Node& node = nodes_[number];
    nodes_[node.older].newer = node.newer;
    nodes_[node.newer].older = node.older;
    node.older = node.newer = kAbsent;
  }

  ExpertNumbers numbers_;
  std::vector<Node> nodes_;
  uint64_t now_ = 0;  // uses so far
};

}  // namespace

std::unique_ptr<CachePolicy> MakeLruPolicy() { return std::make_unique<LruPolicy>(); }

}  // namespace coli
