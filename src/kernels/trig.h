// Sine and cosine for rotary position embedding, the same on every CPU and with every C library:
// f64 additions and multiplications in a fixed order, no fused steps. Computed once per position,
// so not a kernel. Thread-safe.
#pragma once

#include <cstdint>

namespace coli {

struct SinCosPair {
  float sin;
  float cos;
};

// Sine and cosine of `angle` radians, rounded to nearest but for cases within 1e-4 ulp of a tie.
// |angle| <= 2^31, which covers every position.
SinCosPair SinCos(float angle);

// 1 / theta^(2j / rotary_dims) as the reference computes it in f32: exponent, power and reciprocal
// each rounded to f32. The power is the C library's f64 one rounded to f32, hence correctly rounded
// up to ties that f64 cannot tell apart.
float RopeInverseFrequency(float theta, uint32_t j, uint32_t rotary_dims);

}  // namespace coli
