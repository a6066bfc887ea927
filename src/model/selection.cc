#include "model/selection.h"

#include <algorithm>

namespace coli {

void Selection::Move(size_t from, size_t to) {
  counts_[to] = counts_[from];
  if (!all(from)) {
    std::ranges::copy(positions(from), positions_ + to * top_k_);
  }
}

}  // namespace coli
