#include "store/lookahead.h"

#include <algorithm>

namespace coli {

void Lookahead::Useful(size_t rank, uint64_t bytes) {
  ++counters_.useful[std::min(rank, kRanks - 1)];
  counters_.saved_bytes += bytes;
  saved_ += bytes;
}

void Lookahead::Wasted(size_t rank, uint64_t bytes) {
  ++counters_.wasted[std::min(rank, kRanks - 1)];
  counters_.lost_bytes += bytes;
  lost_ += bytes;
}

void Lookahead::NextLayer() {
  if (pause_ > 0) {
    --pause_;
    return;
  }
  if (++layers_ < kTrial) {
    return;
  }
  if (lost_ > saved_) {
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, kLongestPause);
  } else {
    next_pause_ = kShortestPause;
  }
  layers_ = 0;
  saved_ = 0;
  lost_ = 0;
}

}  // namespace coli
