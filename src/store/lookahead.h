// Whether reading ahead pays, and which ranks of a prediction come true. A pure state machine: no
// clock, no I/O. Engine thread only.
//
// While a layer is computed, the experts of the next one are predicted and read with what the drive
// has left. A right guess saves the bytes that have come before they are asked for; a wrong one
// costs those that are at the drive at that moment, which the reads that are waited for come after.
// Both are known when the layer's experts are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coli {

class Lookahead {
 public:
  static constexpr size_t kRanks = 16;  // of a prediction, best first; later ones count as the last

  struct Counters {
    std::array<uint64_t, kRanks> useful{};  // experts that were asked for
    std::array<uint64_t, kRanks> wasted{};
    uint64_t saved_bytes = 0;  // had come when they were asked for
    uint64_t lost_bytes = 0;   // were at the drive for nothing when others were asked for
  };

  explicit Lookahead(bool enabled) : enabled_(enabled) {}

  // Whether the next layer's experts should be read ahead.
  bool on() const { return enabled_ && pause_ == 0; }
  // What became of one expert that was read ahead. `bytes`: saved or lost, as above.
  void Useful(size_t rank, uint64_t bytes);
  void Wasted(size_t rank, uint64_t bytes);
  // A layer's experts were asked for: counts the trial or the pause.
  void NextLayer();

  const Counters& counters() const { return counters_; }

 private:
  // Layers: of a trial, whose sums decide whether it goes on; and of the pause after one that did
  // not pay. A pause doubles with every trial that fails, up to the longest.
  static constexpr uint32_t kTrial = 256;
  static constexpr uint32_t kShortestPause = 1024;
  static constexpr uint32_t kLongestPause = 65536;

  bool enabled_;
  Counters counters_;
  uint32_t layers_ = 0;  // of this trial
  uint64_t saved_ = 0;
  uint64_t lost_ = 0;
  uint32_t pause_ = 0;  // layers left
  uint32_t next_pause_ = kShortestPause;
};

}  // namespace coli
