#include "engine/memory_watch.h"

#include <algorithm>

namespace coli {
namespace {

// What a sign of trouble without a size costs the cache: one part in this many.
constexpr uint64_t kStep = 8;
// Pages read from a drive in a second that are more than a program being started.
constexpr double kManyFaults = 200;
// The share of time that tasks wait for memory that counts as pressure.
constexpr double kStalledShare = 0.1;

}  // namespace

std::optional<MemoryWatch::Change> MemoryWatch::Look(const MemoryReading& reading, double now_s,
                                                     bool slow_hits) {
  if (!last_) {
    last_ = reading;
    last_s_ = pressed_s_ = now_s;
    return std::nullopt;
  }
  if (now_s < last_s_ + kIntervalS) {
    return std::nullopt;
  }
  const MemoryReading before = *last_;
  const double passed_s = now_s - last_s_;
  const bool stalled = StalledALot(reading, now_s);
  last_ = reading;
  last_s_ = now_s;
  const uint64_t step = budget_bytes_ / kStep;
  if (reading.swapped_bytes > before.swapped_bytes) {
    const uint64_t swapped = reading.swapped_bytes - before.swapped_bytes;
    return Shrink(std::max(step, 2 * swapped), Reason::kSwapped, now_s);
  }
  const auto faults = static_cast<double>(reading.major_faults - before.major_faults);
  if (faults > kManyFaults * passed_s) {
    return Shrink(step, Reason::kFaults, now_s);
  }
  const bool known = reading.available_bytes != 0;
  const uint64_t missing =
      limits_.reserve_bytes - std::min(limits_.reserve_bytes, reading.available_bytes);
  if (known && (missing > limits_.reserve_bytes / 2 || (stalled && missing > 0))) {
    return Shrink(missing, Reason::kShort, now_s);
  }
  if (slow_hits) {
    return Shrink(step, Reason::kSlowHits, now_s);
  }
  if (!known || missing > 0) {
    pressed_s_ = now_s;
    return std::nullopt;
  }
  return Grow(reading.available_bytes, now_s);
}

std::optional<MemoryWatch::Change> MemoryWatch::Shrink(uint64_t bytes, Reason reason,
                                                       double now_s) {
  pressed_s_ = now_s;
  const uint64_t room = budget_bytes_ - std::min(budget_bytes_, limits_.least_bytes);
  if (room == 0) {
    return std::nullopt;
  }
  budget_bytes_ -= std::min(bytes, room);
  return Change{budget_bytes_, reason};
}

// Half of what is there beyond the reserve, so that a neighbour who comes and goes does not make
// the cache swing.
std::optional<MemoryWatch::Change> MemoryWatch::Grow(uint64_t available_bytes, double now_s) {
  const uint64_t wanted = limits_.planned_bytes - std::min(limits_.planned_bytes, budget_bytes_);
  const uint64_t spare = (available_bytes - limits_.reserve_bytes) / 2;
  if (wanted == 0 || now_s < pressed_s_ + kCalmS || spare < limits_.least_bytes) {
    return std::nullopt;
  }
  pressed_s_ = now_s;
  budget_bytes_ += std::min(wanted, spare);
  return Change{budget_bytes_, Reason::kCalm};
}

bool MemoryWatch::StalledALot(const MemoryReading& reading, double now_s) const {
  if (!reading.stalled_us || !last_->stalled_us || *reading.stalled_us < *last_->stalled_us) {
    return false;
  }
  return static_cast<double>(*reading.stalled_us - *last_->stalled_us) >
         1e6 * kStalledShare * (now_s - last_s_);
}

std::string_view Words(MemoryWatch::Reason reason) {
  switch (reason) {
    case MemoryWatch::Reason::kSwapped:
      return "the system has moved pages of this program to swap";
    case MemoryWatch::Reason::kFaults:
      return "the system had to read pages of this program again";
    case MemoryWatch::Reason::kShort:
      return "the machine is short of memory";
    case MemoryWatch::Reason::kSlowHits:
      return "experts in memory have become slow to read";
    case MemoryWatch::Reason::kCalm:
      return "memory is available again";
  }
  return "";
}

}  // namespace coli
