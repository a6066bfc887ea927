// The fixed order in which virtual lanes are added (docs/numerics.md).
#pragma once

namespace coli {

template <class T>
T AddLanes8(const T* lane) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

template <class T>
T AddLanes16(const T* lane) {
  T half[8];
  for (int l = 0; l < 8; ++l) {
    half[l] = lane[l] + lane[l + 8];
  }
  return AddLanes8(half);
}

}  // namespace coli
