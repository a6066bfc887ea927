#include "engine/memory_keeper.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/memory_plan.h"

namespace coli {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLeastReserve = 128 * kMiB;

}  // namespace

void MemoryKeeper::AfterStep(Clock::time_point now, const DecodeWork& work) {
  if (now < next_look_) {
    return;
  }
  next_look_ = now + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(MemoryWatch::kIntervalS));
  const double now_s = std::chrono::duration<double>(now.time_since_epoch()).count();
  if (const auto change = watch_.Look(reader_(), now_s, hits_.Look(work))) {
    set_budget_(change->budget_bytes);
    Tell(*change);
  }
}

void MemoryKeeper::Tell(const MemoryWatch::Change& change) {
  const bool grows = change.reason == MemoryWatch::Reason::kCalm;
  if (!grows && told_bytes_ != 0 && change.budget_bytes > told_bytes_ / 2) {
    return;
  }
  told_bytes_ = grows ? 0 : change.budget_bytes;
  notices_.push_back(fmt::format("{}: experts may take {} MiB of memory now", Words(change.reason),
                                 change.budget_bytes / kMiB));
}

MemoryWatchLimits WatchLimits(uint64_t least_bytes, uint64_t planned_bytes,
                              uint64_t planned_total_bytes, uint64_t available_bytes) {
  const uint64_t left = available_bytes - std::min(available_bytes, planned_total_bytes);
  const uint64_t most = std::max(kLeastReserve, ReservedBytes(available_bytes));
  return {.least_bytes = least_bytes,
          .planned_bytes = planned_bytes,
          .reserve_bytes = std::clamp(left, kLeastReserve, most)};
}

}  // namespace coli
