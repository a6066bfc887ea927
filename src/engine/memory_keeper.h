// Keeps the expert cache within what the machine has left while the engine works. Engine thread
// only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/hit_watch.h"
#include "engine/memory_watch.h"

namespace coli {

class MemoryKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  using Reader = std::function<MemoryReading()>;
  using SetBudget = std::function<void(uint64_t expert_cache_bytes)>;

  // `set_budget` is told every change. Tests bring readings of their own.
  MemoryKeeper(
      const MemoryWatchLimits& limits, SetBudget set_budget,
      Reader reader = [] { return ReadMemoryPressure(); })
      : watch_(limits), set_budget_(std::move(set_budget)), reader_(std::move(reader)) {}

  // To be called after every step: looks at the machine once a second at most, which takes some
  // microseconds. `work` since the engine began.
  void AfterStep(Clock::time_point now, const DecodeWork& work = {});

  // What has been changed and why, since the last call. Of a cache that shrinks many times in a
  // row only the first change and those that halve it are told.
  std::vector<std::string> TakeNotices() { return std::exchange(notices_, {}); }

 private:
  void Tell(const MemoryWatch::Change& change);

  MemoryWatch watch_;
  HitWatch hits_;
  SetBudget set_budget_;
  Reader reader_;
  Clock::time_point next_look_{};
  uint64_t told_bytes_ = 0;  // the budget of the last notice; 0: none yet
  std::vector<std::string> notices_;
};

// The limits for a cache of `planned_bytes` with room for one expert of `least_bytes` at least.
// What is to stay available is what the plan leaves of `available_bytes`, within 128 MiB and
// ReservedBytes: a user who names a large budget wants less of a reserve.
MemoryWatchLimits WatchLimits(uint64_t least_bytes, uint64_t planned_bytes,
                              uint64_t planned_total_bytes, uint64_t available_bytes);

}  // namespace coli
