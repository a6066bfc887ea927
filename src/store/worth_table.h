// What every expert of every layer is worth, and which resident is worth least. The least of each
// layer is kept up to date, so that looking for the least of all takes the number of layers and not
// that of residents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "store/cache_policy.h"
#include "store/expert_numbers.h"

namespace coli {

class WorthTable {
 public:
  void Prepare(std::span<const size_t> experts_by_layer);
  static uint64_t Bytes(std::span<const size_t> experts_by_layer);  // that Prepare takes

  float Worth(ExpertKey key) const { return worth_[numbers_(key)]; }
  // Changes the worth of a layer's experts: change(std::span<float>), by expert.
  template <class Change>
  void Update(LayerId layer, const Change& change) {
    change(std::span(worth_).subspan(Begin(layer), End(layer) - Begin(layer)));
    FindLeast(layer);
  }
  void SetResident(ExpertKey key, bool resident);

  // Least after the worth of each layer is multiplied by scale(layer), > 0. Of equals the one with
  // the lowest layer, then expert.
  std::optional<ExpertKey> Least(PinnedExperts pinned,
                                 FunctionRef<float(LayerId)> scale = kUnscaled) const;

 private:
  static constexpr auto kUnscaled = [](LayerId) { return 1.0F; };
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  size_t Begin(LayerId layer) const { return numbers_.First(static_cast<size_t>(Raw(layer))); }
  size_t End(LayerId layer) const { return numbers_.First(static_cast<size_t>(Raw(layer)) + 1); }
  ExpertKey Key(LayerId layer, size_t number) const {
    return {layer, ExpertId{static_cast<int32_t>(number - Begin(layer))}};
  }
  // The number of the layer's least resident of those that are not pinned, or kNone.
  size_t LeastOf(LayerId layer, PinnedExperts pinned) const;
  void FindLeast(LayerId layer);

  ExpertNumbers numbers_;
  std::vector<float> worth_;    // [experts]
  std::vector<char> resident_;  // [experts]
  std::vector<size_t> least_;   // [layers] number, or kNone
};

}  // namespace coli
