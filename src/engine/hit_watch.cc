#include "engine/hit_watch.h"

#include <algorithm>
#include <utility>

namespace coli {
namespace {

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double PerByte(double seconds, uint64_t bytes) { return seconds / static_cast<double>(bytes); }

}  // namespace

bool HitWatch::Look(const DecodeWork& work) {
  const DecodeWork window = work - window_begin_;
  if (window.resident_s + window.other_s < kWindowS || window.resident_bytes < kWindowBytes ||
      window.other_bytes == 0 || window.other_s <= 0) {
    return false;
  }
  window_begin_ = work;
  const double hits = PerByte(window.resident_s, window.resident_bytes);
  return Judge({hits, hits / PerByte(window.other_s, window.other_bytes)});
}

bool HitWatch::Judge(const Speed& speed) {
  if (relative_.size() < kNormWindows) {
    seconds_per_byte_.push_back(speed.seconds_per_byte);
    relative_.push_back(speed.relative);
    return false;
  }
  if (!IsSlow(speed)) {
    slow_windows_ = verdicts_ = 0;
    return false;
  }
  if (++slow_windows_ < kSlowWindows) {
    return false;
  }
  slow_windows_ = 0;
  if (++verdicts_ == kFruitless) {
    verdicts_ = 0;
    seconds_per_byte_.clear();
    relative_.clear();
  }
  return true;
}

bool HitWatch::IsSlow(const Speed& speed) const {
  return speed.seconds_per_byte > kSlow * Median(seconds_per_byte_) &&
         speed.relative > kSlow * Median(relative_);
}

}  // namespace coli
