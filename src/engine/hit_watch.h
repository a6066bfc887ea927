// Notices when computing experts that are in memory has become slow: the system has then begun to
// take their pages away in a way that nothing else tells of.
//
// A busy neighbour or a hot processor must not look like that. So the time for a byte of these
// experts is compared twice, with what it was and with the time for a byte of all other weights in
// the same steps, which are not the system's to take; both must have doubled, and for a while. And
// if two smaller caches in a row have not helped, memory was not the reason: what is now becomes
// what is compared with. Pure: sums of work in, a verdict out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/work_times.h"

namespace coli {

class HitWatch {
 public:
  // Work is judged in windows of at least so much time and so many bytes of experts in memory: more
  // than a moment's disturbance, and more than caches hold.
  static constexpr double kWindowS = 1;
  static constexpr uint64_t kWindowBytes = uint64_t{256} << 20;
  static constexpr size_t kNormWindows = 8;  // the first ones: how fast it was is their median
  static constexpr double kSlow = 2;         // times what it was
  static constexpr size_t kSlowWindows = 3;  // in a row, for a verdict
  static constexpr size_t kFruitless = 2;    // verdicts in a row that changed nothing

  // `work` since the engine began. True when hits have become slow: once, and again when they still
  // are after as many windows.
  bool Look(const DecodeWork& work);

 private:
  // Of a window.
  struct Speed {
    double seconds_per_byte;
    double relative;  // to that of other weights
  };
  bool Judge(const Speed& speed);
  bool IsSlow(const Speed& speed) const;

  DecodeWork window_begin_;
  std::vector<double> seconds_per_byte_;  // [kNormWindows] at most, of the windows of the norm
  std::vector<double> relative_;
  size_t slow_windows_ = 0;
  size_t verdicts_ = 0;  // in a row
};

}  // namespace coli
