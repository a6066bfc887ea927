// Where the time of an engine goes, and what its steps read from memory. Pure values.
#pragma once

#include <cstdint>

namespace coli {

// Since the engine started; all monotone. A step with a row of a prompt belongs to prefill.
struct WorkTimes {
  double prefill_s = 0;       // steps with rows of prompts, waiting included
  double prefill_wait_s = 0;  // of these: nothing to compute until a read was done
  double decode_s = 0;        // all other steps
  double decode_wait_s = 0;
  double sampling_s = 0;
  // Bytes of weights that had to come from memory: the always-used ones once a step, each expert
  // once a step and layer. Activations and KV cache are not counted.
  uint64_t weight_bytes = 0;

  double wait_s() const { return prefill_wait_s + decode_wait_s; }
  double compute_s() const { return prefill_s + decode_s - wait_s() + sampling_s; }

  friend WorkTimes operator-(const WorkTimes& a, const WorkTimes& b) {
    return Each(a, b, [](auto x, auto y) { return x - y; });
  }
  friend WorkTimes operator+(const WorkTimes& a, const WorkTimes& b) {
    return Each(a, b, [](auto x, auto y) { return x + y; });
  }

 private:
  template <class F>
  static WorkTimes Each(const WorkTimes& a, const WorkTimes& b, const F& f) {
    return {f(a.prefill_s, b.prefill_s),   f(a.prefill_wait_s, b.prefill_wait_s),
            f(a.decode_s, b.decode_s),     f(a.decode_wait_s, b.decode_wait_s),
            f(a.sampling_s, b.sampling_s), f(a.weight_bytes, b.weight_bytes)};
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
