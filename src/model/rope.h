// Rotary position embedding, plain ("default") frequencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coli {

// The rotation angles of a position. The reference implementations form the angle in f32, and at
// large positions that rounding is part of what the model was trained on: a more precise angle
// would be a deviation. Thread-safe (const).
class RopeTable {
 public:
  // `rope_dim` (even): how many values of a head are rotated. `theta`: the base of the frequencies.
  RopeTable(float theta, uint32_t rope_dim);

  size_t pairs() const { return inverse_frequencies_.size(); }

  // cos, sin: [pairs] of the angles f32(position * inverse frequency j), ready for
  // VectorKernels::rotate_pairs.
  void Angles(uint32_t position, float* cos, float* sin) const;

 private:
  std::vector<float> inverse_frequencies_;  // theta^(-2j / rope_dim)
};

}  // namespace coli
