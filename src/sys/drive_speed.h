// How fast a drive has been of late. Pure; thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>

#include "sys/io_engine.h"

namespace coli {

class DriveSpeed {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Bytes over the time in which it had something to do; the same for all until they have read.
  double bytes_per_second() const { return bytes_per_second_; }

  // What its engine counted until `now`. A drive that was not asked for a while is believed to be
  // faster and faster: else one that had a bad moment would never be asked again.
  void Update(const IoStats& stats, Time now) {
    const uint64_t busy_us = stats.busy_us - seen_.busy_us;
    const uint64_t bytes = stats.bytes - seen_.bytes;
    if (busy_us >= kWindowUs && bytes > 0) {
      const double measured = 1e6 * static_cast<double>(bytes) / static_cast<double>(busy_us);
      const double weight = !known_ ? 1 : measured > bytes_per_second_ ? kRise : kFall;
      bytes_per_second_ += weight * (measured - bytes_per_second_);
      known_ = true;
      seen_ = stats;
      looked_at_ = now;
    } else if (busy_us < kWindowUs && now - looked_at_ >= kForgetting) {
      bytes_per_second_ *= seen_.bytes > 0 ? 2 : 1;
      known_ = false;
      looked_at_ = now;
    }
  }

 private:
  static constexpr uint64_t kWindowUs = 20'000;
  // A drive with few reads at a time is slower than it could be: it must not get fewer for that.
  static constexpr double kRise = 0.5;
  static constexpr double kFall = 0.125;
  static constexpr std::chrono::seconds kForgetting{1};

  double bytes_per_second_ = 1e9;
  bool known_ = false;  // measured, and not long ago
  IoStats seen_;
  Time looked_at_{};
};

}  // namespace coli
