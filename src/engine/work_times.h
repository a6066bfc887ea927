// Where the time of an engine goes, and what its steps read. Pure values.
#pragma once

#include <cstdint>

namespace coli {

// What steps of one kind did; sums.
struct StepWork {
  double seconds = 0;    // waiting included
  double wait_s = 0;     // nothing to compute until a read was done
  double overlap_s = 0;  // experts were computed while the drive was busy
  double drive_s = 0;    // at least one read was at the drive
  uint64_t expert_hits = 0;
  uint64_t expert_misses = 0;
  uint64_t bytes_read = 0;      // of experts, whoever they were for
  uint64_t guesses_used = 0;    // experts that were read ahead and then asked for
  uint64_t guesses_wasted = 0;  // and those that were not

  uint64_t expert_uses() const { return expert_hits + expert_misses; }

  friend StepWork operator-(const StepWork& a, const StepWork& b) {
    return Each(a, b, [](auto x, auto y) { return x - y; });
  }
  friend StepWork operator+(const StepWork& a, const StepWork& b) {
    return Each(a, b, [](auto x, auto y) { return x + y; });
  }

 private:
  template <class F>
  static StepWork Each(const StepWork& a, const StepWork& b, const F& f) {
    return {.seconds = f(a.seconds, b.seconds),
            .wait_s = f(a.wait_s, b.wait_s),
            .overlap_s = f(a.overlap_s, b.overlap_s),
            .drive_s = f(a.drive_s, b.drive_s),
            .expert_hits = f(a.expert_hits, b.expert_hits),
            .expert_misses = f(a.expert_misses, b.expert_misses),
            .bytes_read = f(a.bytes_read, b.bytes_read),
            .guesses_used = f(a.guesses_used, b.guesses_used),
            .guesses_wasted = f(a.guesses_wasted, b.guesses_wasted)};
  }
};

// Since the engine started; all monotone.
struct WorkTimes {
  StepWork prefill;  // steps with rows of prompts
  StepWork decode;   // all other steps
  double sampling_s = 0;
  // Bytes of weights that had to come from memory: the always-used ones once a step, each expert
  // once a step and layer. Activations and KV cache are not counted.
  uint64_t weight_bytes = 0;

  StepWork steps() const { return prefill + decode; }
  double wait_s() const { return prefill.wait_s + decode.wait_s; }
  double compute_s() const { return prefill.seconds + decode.seconds - wait_s() + sampling_s; }

  friend WorkTimes operator-(const WorkTimes& a, const WorkTimes& b) {
    return {a.prefill - b.prefill, a.decode - b.decode, a.sampling_s - b.sampling_s,
            a.weight_bytes - b.weight_bytes};
  }
  friend WorkTimes operator+(const WorkTimes& a, const WorkTimes& b) {
    return {a.prefill + b.prefill, a.decode + b.decode, a.sampling_s + b.sampling_s,
            a.weight_bytes + b.weight_bytes};
  }
};

// What steps of decoding alone spent on weights, by where these were; reads and sampling are not
// counted. All monotone since the engine began.
struct DecodeWork {
  double resident_s = 0;        // computing experts that were in memory, with the shared expert
  uint64_t resident_bytes = 0;  // of their weights
  double other_s = 0;           // computing everything else
  uint64_t other_bytes = 0;

  friend DecodeWork operator-(const DecodeWork& a, const DecodeWork& b) {
    return {a.resident_s - b.resident_s, a.resident_bytes - b.resident_bytes, a.other_s - b.other_s,
            a.other_bytes - b.other_bytes};
  }
};

}  // namespace coli
