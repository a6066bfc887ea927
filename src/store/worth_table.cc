#include "store/worth_table.h"

namespace coli {

void WorthTable::Prepare(std::span<const size_t> experts_by_layer) {
  numbers_ = ExpertNumbers(experts_by_layer);
  worth_.assign(numbers_.experts(), 0.0F);
  resident_.assign(numbers_.experts(), 0);
  least_.assign(numbers_.layers(), kNone);
}

uint64_t WorthTable::Bytes(std::span<const size_t> experts_by_layer) {
  const ExpertNumbers numbers(experts_by_layer);
  return numbers.experts() * (sizeof(float) + sizeof(char)) + numbers.layers() * sizeof(size_t);
}

void WorthTable::SetResident(ExpertKey key, bool resident) {
  const size_t number = numbers_(key);
  COLI_CHECK((resident_[number] != 0) != resident);
  resident_[number] = resident ? 1 : 0;
  FindLeast(key.layer);
}

std::optional<ExpertKey> WorthTable::Least(PinnedExperts pinned,
                                           FunctionRef<float(LayerId)> scale) const {
  std::optional<ExpertKey> best;
  float best_worth = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < least_.size(); ++i) {
    const LayerId layer{static_cast<int32_t>(i)};
    const auto worth_of = [&](size_t number) {
      return number == kNone ? std::numeric_limits<float>::infinity()
                             : worth_[number] * scale(layer);
    };
    size_t number = least_[i];
    if (worth_of(number) < best_worth && pinned(Key(layer, number))) {
      number = LeastOf(layer, pinned);
    }
    if (worth_of(number) < best_worth) {
      best = Key(layer, number);
      best_worth = worth_of(number);
    }
  }
  return best;
}

size_t WorthTable::LeastOf(LayerId layer, PinnedExperts pinned) const {
  size_t least = kNone;
  for (size_t number = Begin(layer); number < End(layer); ++number) {
    if (resident_[number] != 0 && (least == kNone || worth_[number] < worth_[least]) &&
        !pinned(Key(layer, number))) {
      least = number;
    }
  }
  return least;
}

void WorthTable::FindLeast(LayerId layer) {
  least_[static_cast<size_t>(Raw(layer))] = LeastOf(layer, [](ExpertKey) { return false; });
}

}  // namespace coli
