// Brings what was learned about experts from one run to the next: reads it at the start, adds to it
// after every few minutes of work and at the end. Whatever goes wrong costs a notice and nothing
// else. Engine thread only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "store/usage.h"
#include "store/usage_counter.h"

namespace coli {

class UsageKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  // At most this much work is lost when the process is killed.
  static constexpr std::chrono::minutes kInterval{3};

  // `counter` must outlive the keeper.
  UsageKeeper(UsageFile file, UsageCounter& counter) : file_(std::move(file)), counter_(&counter) {}

  // The experts that earlier runs used, the most valuable first.
  std::vector<ExpertKey> Load();
  // After a step: saves when kInterval has passed since the last time. The first call starts it.
  void AfterStep(Clock::time_point now);
  // Adds what was counted since the last save; nothing if nothing was.
  void Save();

  // What went wrong, once: a failed save is not told after another, or after a failed Load.
  std::vector<std::string> TakeNotices();

 private:
  UsageFile file_;
  UsageCounter* counter_;
  std::optional<Clock::time_point> saved_at_;
  bool told_ = false;  // that something is wrong: once is enough
  std::vector<std::string> notices_;
};

// How much scores of a save count against those that were saved before, 0 to 1: half after about
// 256 tokens. Pure.
double WeightOfWork(const UsageTable& work);

}  // namespace coli
