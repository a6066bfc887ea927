// The experts of all layers as one range of numbers from 0, layer by layer: what arrays that hold
// something for every expert are indexed by.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "base/check.h"
#include "store/cache_policy.h"

namespace coli {

class ExpertNumbers {
 public:
  ExpertNumbers() = default;
  explicit ExpertNumbers(std::span<const size_t> experts_by_layer)
      : first_(experts_by_layer.size() + 1) {
    std::partial_sum(experts_by_layer.begin(), experts_by_layer.end(), first_.begin() + 1);
  }

  size_t layers() const { return first_.empty() ? 0 : first_.size() - 1; }
  size_t experts() const { return first_.empty() ? 0 : first_.back(); }
  // The numbers of a layer's experts: [First(layer), First(layer + 1)).
  size_t First(size_t layer) const { return first_[layer]; }
  size_t operator()(ExpertKey key) const {
    const auto layer = static_cast<size_t>(Raw(key.layer));
    COLI_CHECK(layer < layers());
    const size_t number = first_[layer] + static_cast<size_t>(Raw(key.expert));
    COLI_CHECK(number < first_[layer + 1]);
    return number;
  }

 private:
  std::vector<size_t> first_;  // [layers + 1]
};

}  // namespace coli
