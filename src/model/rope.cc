#include "model/rope.h"

#include "kernels/trig.h"

namespace coli {

RopeTable::RopeTable(float theta, uint32_t rope_dim) : inverse_frequencies_(rope_dim / 2) {
  for (uint32_t j = 0; j < rope_dim / 2; ++j) {
    inverse_frequencies_[j] = RopeInverseFrequency(theta, j, rope_dim);
  }
}

void RopeTable::Angles(uint32_t position, float* cos, float* sin) const {
  for (size_t j = 0; j < inverse_frequencies_.size(); ++j) {
    const SinCosPair angle = SinCos(static_cast<float>(position) * inverse_frequencies_[j]);
    cos[j] = angle.cos;
    sin[j] = angle.sin;
  }
}

}  // namespace coli
