// Functions on f32 vectors. Part of neon.cc.
#pragma once

#include "kernels/arm/neon_float.h"
#include "kernels/exp_constants.h"

namespace coli {
namespace {

float Dot(const float* a, const float* b, size_t n) {
  Lanes16 lanes;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int q = 0; q < 4; ++q) {
      lanes.Add(a + i, q, vld1q_f32(b + i + 4 * q));
    }
  }
  return lanes.Sum(a + i, b + i, n - i);
}

void Axpy(float scale, const float* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(y + i, vfmaq_n_f32(vld1q_f32(y + i), vld1q_f32(x + i), scale));
  }
  for (; i < n; ++i) {
    y[i] = __builtin_fmaf(scale, x[i], y[i]);
  }
}

void Dots(const FloatRows& a, const FloatVectors& b, size_t n, float* out, size_t out_stride) {
  for (size_t r = 0; r < a.count; ++r) {
    for (size_t k = 0; k < b.count; ++k) {
      out[r * out_stride + k] = Dot(a.values + r * a.stride, b.vectors[k], n);
    }
  }
}

void Axpys(const FloatRows& factors, const FloatVectors& x, size_t n, float* y, size_t y_stride) {
  for (size_t r = 0; r < factors.count; ++r) {
    for (size_t k = 0; k < x.count; ++k) {
      Axpy(factors.values[r * factors.stride + k], x.vectors[k], y + r * y_stride, n);
    }
  }
}

void Add(const float* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(y + i, vaddq_f32(vld1q_f32(y + i), vld1q_f32(x + i)));
  }
  for (; i < n; ++i) {
    y[i] += x[i];
  }
}

void Scale(float factor, float* y, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(y + i, vmulq_n_f32(vld1q_f32(y + i), factor));
  }
  for (; i < n; ++i) {
    y[i] *= factor;
  }
}

// Eight virtual lanes of f64; `term` of element i goes to lane i mod 8.
template <class Vector, class Scalar>
double SumInLanes(const float* x, size_t n, Vector term, Scalar last_term) {
  float64x2_t sum[4] = {vdupq_n_f64(0), vdupq_n_f64(0), vdupq_n_f64(0), vdupq_n_f64(0)};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t q = 0; q < 4; ++q) {
      sum[q] = vaddq_f64(sum[q], term(vcvt_f64_f32(vld1_f32(x + i + 2 * q))));
    }
  }
  double lane[8];
  for (size_t q = 0; q < 4; ++q) {
    vst1q_f64(lane + 2 * q, sum[q]);
  }
  for (size_t l = 0; i + l < n; ++l) {
    lane[l] += last_term(static_cast<double>(x[i + l]));
  }
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

inline double Sum(const float* x, size_t n) {
  return SumInLanes(x, n, [](float64x2_t v) { return v; }, [](double v) { return v; });
}

// Of the squares of the differences to `center`.
inline double SumOfSquares(const float* x, double center, size_t n) {
  return SumInLanes(
      x, n,
      [center](float64x2_t v) {
        const float64x2_t difference = vsubq_f64(v, vdupq_n_f64(center));
        return vmulq_f64(difference, difference);
      },
      [center](double v) { return (v - center) * (v - center); });
}

void RmsNorm(const float* x, const float* w, float eps, float* y, size_t n) {
  const double mean_square = SumOfSquares(x, 0, n) / static_cast<double>(n);
  const auto factor =
      static_cast<float>(1.0 / __builtin_sqrt(mean_square + static_cast<double>(eps)));
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(y + i, vmulq_f32(vld1q_f32(w + i), vmulq_n_f32(vld1q_f32(x + i), factor)));
  }
  for (; i < n; ++i) {
    y[i] = w[i] * (x[i] * factor);
  }
}

void LayerNorm(const float* x, const float* w, const float* b, float eps, float* y, size_t n) {
  const double mean = Sum(x, n) / static_cast<double>(n);
  const double variance = SumOfSquares(x, mean, n) / static_cast<double>(n);
  const double factor = 1.0 / __builtin_sqrt(variance + static_cast<double>(eps));
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const float64x2_t difference = vsubq_f64(vcvt_f64_f32(vld1_f32(x + i)), vdupq_n_f64(mean));
    const float32x2_t normed = vcvt_f32_f64(vmulq_n_f64(difference, factor));
    vst1_f32(y + i, vfma_f32(vld1_f32(b + i), vld1_f32(w + i), normed));
  }
  for (; i < n; ++i) {
    const auto normed = static_cast<float>((static_cast<double>(x[i]) - mean) * factor);
    y[i] = __builtin_fmaf(w[i], normed, b[i]);
  }
}

inline float32x4_t PowerOfTwo(int32x4_t exponent) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(exponent, vdupq_n_s32(127)), 23));
}

// See exp_constants.h. The comparisons let NaN pass.
inline float32x4_t Exp(float32x4_t x) {
  const float32x4_t highest = vdupq_n_f32(kExpHighest);
  const float32x4_t lowest = vdupq_n_f32(kExpLowest);
  float32x4_t limited = vbslq_f32(vcltq_f32(highest, x), highest, x);
  limited = vbslq_f32(vcgtq_f32(lowest, limited), lowest, limited);

  const float32x4_t shifted = vfmaq_n_f32(vdupq_n_f32(kExpRounder), limited, kExpLog2E);
  const float32x4_t n = vsubq_f32(shifted, vdupq_n_f32(kExpRounder));
  float32x4_t r = vfmsq_n_f32(limited, n, kExpLn2High);
  r = vfmsq_n_f32(r, n, kExpLn2Low);

  float32x4_t p = vfmaq_n_f32(vdupq_n_f32(kExpC3), r, kExpC4);
  p = vfmaq_f32(vdupq_n_f32(kExpC2), p, r);
  p = vfmaq_f32(vdupq_n_f32(kExpC1), p, r);
  p = vfmaq_f32(vdupq_n_f32(kExpC0), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F), p, r);

  const int32x4_t exponent =
      vsubq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(kExpRounderBits));
  const int32x4_t half = vshrq_n_s32(exponent, 1);
  return vmulq_f32(vmulq_f32(p, PowerOfTwo(half)), PowerOfTwo(vsubq_s32(exponent, half)));
}

inline float32x4_t Sigmoid(float32x4_t x) {
  const float32x4_t one = vdupq_n_f32(1.0F);
  const float32x4_t e = Exp(vnegq_f32(vabsq_f32(x)));
  const uint32x4_t negative = vcltq_f32(x, vdupq_n_f32(0));
  return vdivq_f32(vbslq_f32(negative, e, one), vaddq_f32(one, e));
}

// Up to four floats, the rest 0.
inline float32x4_t LoadFirst(const float* p, size_t count) {
  float values[4] = {};
  memcpy(values, p, count * sizeof(float));
  return vld1q_f32(values);
}

inline void StoreFirst(float* p, float32x4_t v, size_t count) {
  float values[4];
  vst1q_f32(values, v);
  memcpy(p, values, count * sizeof(float));
}

inline float32x4_t SiluTimes(float32x4_t gate, float32x4_t up) {
  return vmulq_f32(vmulq_f32(gate, Sigmoid(gate)), up);
}

void SiluMul(const float* gate, const float* up, float* y, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(y + i, SiluTimes(vld1q_f32(gate + i), vld1q_f32(up + i)));
  }
  if (i < n) {
    StoreFirst(y + i, SiluTimes(LoadFirst(gate + i, n - i), LoadFirst(up + i, n - i)), n - i);
  }
}

void SigmoidAll(const float* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(y + i, Sigmoid(vld1q_f32(x + i)));
  }
  if (i < n) {
    StoreFirst(y + i, Sigmoid(LoadFirst(x + i, n - i)), n - i);
  }
}

// The largest element; NaN is passed over.
inline float Highest(const float* x, size_t n) {
  const float lowest = -__builtin_inff();
  float32x4_t highest = vdupq_n_f32(lowest);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float32x4_t v = vld1q_f32(x + i);
    highest = vbslq_f32(vcgtq_f32(v, highest), v, highest);
  }
  float result = vmaxvq_f32(highest);
  for (; i < n; ++i) {
    result = x[i] > result ? x[i] : result;
  }
  return result;
}

void Softmax(float* x, size_t n) {
  const float32x4_t highest = vdupq_n_f32(Highest(x, n));
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(x + i, Exp(vsubq_f32(vld1q_f32(x + i), highest)));
  }
  if (i < n) {
    StoreFirst(x + i, Exp(vsubq_f32(LoadFirst(x + i, n - i), highest)), n - i);
  }
  Scale(static_cast<float>(1.0 / Sum(x, n)), x, n);
}

void RotatePairs(const float* cos, const float* sin, float* x, size_t pairs) {
  size_t j = 0;
  for (; j + 4 <= pairs; j += 4) {
    const float32x4_t c = vld1q_f32(cos + j);
    const float32x4_t s = vld1q_f32(sin + j);
    float32x4x2_t v = vld2q_f32(x + 2 * j);
    const float32x4_t even = v.val[0];
    const float32x4_t odd = v.val[1];
    v.val[0] = vfmaq_f32(vnegq_f32(vmulq_f32(odd, s)), even, c);
    v.val[1] = vfmaq_f32(vmulq_f32(even, s), odd, c);
    vst2q_f32(x + 2 * j, v);
  }
  for (; j < pairs; ++j) {
    const float even = x[2 * j];
    const float odd = x[2 * j + 1];
    x[2 * j] = __builtin_fmaf(even, cos[j], -(odd * sin[j]));
    x[2 * j + 1] = __builtin_fmaf(odd, cos[j], even * sin[j]);
  }
}

}  // namespace
}  // namespace coli
