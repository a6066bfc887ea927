// Decides how much memory experts may keep while the machine around the process changes.
//
// Going beyond what the machine has costs far more than a smaller cache: the system then drops or
// swaps pages, and every hit becomes a read that nobody planned. So the cache shrinks at once
// when memory runs short and grows back slowly, and never beyond its plan. Pure: readings and
// times in, budgets out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sys/memory_pressure.h"

namespace coli {

struct MemoryWatchLimits {
  uint64_t least_bytes = 0;    // of the expert cache; it is never asked to be smaller
  uint64_t planned_bytes = 0;  // nor larger
  // What is to stay available to the rest of the machine.
  uint64_t reserve_bytes = 0;
};

class MemoryWatch {
 public:
  static constexpr double kIntervalS = 1;  // between two readings, at least
  static constexpr double kCalmS = 30;     // without any pressure before the cache grows

  // Why the budget is to change.
  enum class Reason : uint8_t {
    kSwapped,   // pages of this process went to swap
    kFaults,    // pages of it had to be read from a drive
    kShort,     // less than half of the reserve is available
    kSlowHits,  // experts in memory take much longer than they did
    kCalm,      // memory is there again
  };
  struct Change {
    uint64_t budget_bytes;  // of the expert cache
    Reason reason;
  };

  explicit MemoryWatch(const MemoryWatchLimits& limits)
      : limits_(limits), budget_bytes_(limits.planned_bytes) {}

  // What a reading at `now_s` (of a clock that never goes back) asks for; nothing: leave it.
  // `slow_hits`: whether computing resident experts has become slow. The first reading is what
  // later ones are compared with.
  std::optional<Change> Look(const MemoryReading& reading, double now_s, bool slow_hits = false);

  uint64_t budget_bytes() const { return budget_bytes_; }

 private:
  std::optional<Change> Shrink(uint64_t bytes, Reason reason, double now_s);
  std::optional<Change> Grow(uint64_t available_bytes, double now_s);
  bool StalledALot(const MemoryReading& reading, double now_s) const;

  MemoryWatchLimits limits_;
  uint64_t budget_bytes_;
  std::optional<MemoryReading> last_;
  double last_s_ = 0;
  double pressed_s_ = 0;  // when there was pressure for the last time, or a change
};

// For people: "the system has moved pages to swap".
std::string_view Words(MemoryWatch::Reason reason);

}  // namespace coli
