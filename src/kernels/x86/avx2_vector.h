// Functions on f32 vectors. Part of avx2.cc.
#pragma once

#include "kernels/exp_constants.h"
#include "kernels/x86/avx2_float.h"

namespace coli {
namespace {

float Dot(const float* a, const float* b, size_t n) {
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    low = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), low);
    high = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8), high);
  }
  return AddLanesAndTail(low, high, a + i, b + i, static_cast<uint32_t>(n - i));
}

void Axpy(float scale, const float* x, float* y, size_t n) {
  const __m256 factor = _mm256_set1_ps(scale);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i,
                     _mm256_fmadd_ps(factor, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
  }
  for (; i < n; ++i) {
    y[i] = __builtin_fmaf(scale, x[i], y[i]);
  }
}

void Add(const float* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
  }
  for (; i < n; ++i) {
    y[i] += x[i];
  }
}

void Scale(float factor, float* y, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(y + i), _mm256_set1_ps(factor)));
  }
  for (; i < n; ++i) {
    y[i] *= factor;
  }
}

// Eight f32 as f64: lanes 0..3 and 4..7.
struct Doubles {
  __m256d low;
  __m256d high;
};

inline Doubles Widen(__m256 x) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}

inline __m256 Narrow(Doubles x) {
  return _mm256_set_m128(_mm256_cvtpd_ps(x.high), _mm256_cvtpd_ps(x.low));
}

// Eight lanes of f64 as an array, for the elements after the last whole eight.
struct DoubleLanes {
  alignas(32) double lane[8];

  explicit DoubleLanes(Doubles sums) {
    _mm256_store_pd(lane, sums.low);
    _mm256_store_pd(lane + 4, sums.high);
  }
  double Sum() const { return AddLanes(_mm256_load_pd(lane), _mm256_load_pd(lane + 4)); }
};

inline double SquareRoot(double x) { return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(x))); }

void RmsNorm(const float* x, const float* w, float eps, float* y, size_t n) {
  Doubles sums{_mm256_setzero_pd(), _mm256_setzero_pd()};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Doubles v = Widen(_mm256_loadu_ps(x + i));
    sums.low = _mm256_add_pd(sums.low, _mm256_mul_pd(v.low, v.low));
    sums.high = _mm256_add_pd(sums.high, _mm256_mul_pd(v.high, v.high));
  }
  DoubleLanes lanes(sums);
  for (size_t l = 0; i + l < n; ++l) {
    lanes.lane[l] += static_cast<double>(x[i + l]) * static_cast<double>(x[i + l]);
  }
  const double mean_square = lanes.Sum() / static_cast<double>(n);
  const auto factor = static_cast<float>(1.0 / SquareRoot(mean_square + static_cast<double>(eps)));
  for (i = 0; i + 8 <= n; i += 8) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(factor));
    _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(w + i), scaled));
  }
  for (; i < n; ++i) {
    y[i] = w[i] * (x[i] * factor);
  }
}

inline double Mean(const float* x, size_t n) {
  Doubles sums{_mm256_setzero_pd(), _mm256_setzero_pd()};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Doubles v = Widen(_mm256_loadu_ps(x + i));
    sums.low = _mm256_add_pd(sums.low, v.low);
    sums.high = _mm256_add_pd(sums.high, v.high);
  }
  DoubleLanes lanes(sums);
  for (size_t l = 0; i + l < n; ++l) {
    lanes.lane[l] += static_cast<double>(x[i + l]);
  }
  return lanes.Sum() / static_cast<double>(n);
}

inline double Variance(const float* x, double mean, size_t n) {
  const __m256d center = _mm256_set1_pd(mean);
  Doubles sums{_mm256_setzero_pd(), _mm256_setzero_pd()};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Doubles v = Widen(_mm256_loadu_ps(x + i));
    const __m256d low = _mm256_sub_pd(v.low, center);
    const __m256d high = _mm256_sub_pd(v.high, center);
    sums.low = _mm256_add_pd(sums.low, _mm256_mul_pd(low, low));
    sums.high = _mm256_add_pd(sums.high, _mm256_mul_pd(high, high));
  }
  DoubleLanes lanes(sums);
  for (size_t l = 0; i + l < n; ++l) {
    const double difference = static_cast<double>(x[i + l]) - mean;
    lanes.lane[l] += difference * difference;
  }
  return lanes.Sum() / static_cast<double>(n);
}

void LayerNorm(const float* x, const float* w, const float* b, float eps, float* y, size_t n) {
  const double mean = Mean(x, n);
  const double factor = 1.0 / SquareRoot(Variance(x, mean, n) + static_cast<double>(eps));
  const __m256d center = _mm256_set1_pd(mean);
  const __m256d scale = _mm256_set1_pd(factor);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Doubles v = Widen(_mm256_loadu_ps(x + i));
    v.low = _mm256_mul_pd(_mm256_sub_pd(v.low, center), scale);
    v.high = _mm256_mul_pd(_mm256_sub_pd(v.high, center), scale);
    _mm256_storeu_ps(y + i,
                     _mm256_fmadd_ps(_mm256_loadu_ps(w + i), Narrow(v), _mm256_loadu_ps(b + i)));
  }
  for (; i < n; ++i) {
    const auto normed = static_cast<float>((static_cast<double>(x[i]) - mean) * factor);
    y[i] = __builtin_fmaf(w[i], normed, b[i]);
  }
}

inline __m256 PowerOfTwo(__m256i exponent) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
}

// See exp_constants.h. The operand order of the limits lets NaN pass.
inline __m256 Exp(__m256 x) {
  const __m256 limited =
      _mm256_max_ps(_mm256_set1_ps(kExpLowest), _mm256_min_ps(_mm256_set1_ps(kExpHighest), x));

  const __m256 shifted =
      _mm256_fmadd_ps(limited, _mm256_set1_ps(kExpLog2E), _mm256_set1_ps(kExpRounder));
  const __m256 n = _mm256_sub_ps(shifted, _mm256_set1_ps(kExpRounder));
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kExpLn2High), limited);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kExpLn2Low), r);

  __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(kExpC4), r, _mm256_set1_ps(kExpC3));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExpC2));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExpC1));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExpC0));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F));

  const __m256i exponent =
      _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(kExpRounderBits));
  const __m256i half = _mm256_srai_epi32(exponent, 1);
  return _mm256_mul_ps(_mm256_mul_ps(p, PowerOfTwo(half)),
                       PowerOfTwo(_mm256_sub_epi32(exponent, half)));
}

inline __m256 Sigmoid(__m256 x) {
  const __m256 one = _mm256_set1_ps(1.0F);
  const __m256 e = Exp(_mm256_or_ps(x, _mm256_set1_ps(-0.0F)));
  const __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  return _mm256_div_ps(_mm256_blendv_ps(one, e, negative), _mm256_add_ps(one, e));
}

// Up to eight floats, the rest 0.
inline __m256 LoadFirst(const float* p, size_t count) {
  alignas(32) float values[8] = {};
  memcpy(values, p, count * sizeof(float));
  return _mm256_load_ps(values);
}

inline void StoreFirst(float* p, __m256 v, size_t count) {
  alignas(32) float values[8];
  _mm256_store_ps(values, v);
  memcpy(p, values, count * sizeof(float));
}

inline __m256 SiluTimes(__m256 gate, __m256 up) {
  return _mm256_mul_ps(_mm256_mul_ps(gate, Sigmoid(gate)), up);
}

void SiluMul(const float* gate, const float* up, float* y, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, SiluTimes(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
  }
  if (i < n) {
    StoreFirst(y + i, SiluTimes(LoadFirst(gate + i, n - i), LoadFirst(up + i, n - i)), n - i);
  }
}

void SigmoidAll(const float* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, Sigmoid(_mm256_loadu_ps(x + i)));
  }
  if (i < n) {
    StoreFirst(y + i, Sigmoid(LoadFirst(x + i, n - i)), n - i);
  }
}

// The largest element; NaN is passed over.
inline float Highest(const float* x, size_t n) {
  const float lowest = -__builtin_inff();
  __m256 highest = _mm256_set1_ps(lowest);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    highest = _mm256_max_ps(_mm256_loadu_ps(x + i), highest);
  }
  alignas(32) float lane[8];
  _mm256_store_ps(lane, highest);
  float result = lowest;
  for (int l = 0; l < 8; ++l) {
    result = lane[l] > result ? lane[l] : result;
  }
  for (; i < n; ++i) {
    result = x[i] > result ? x[i] : result;
  }
  return result;
}

void Softmax(float* x, size_t n) {
  const __m256 highest = _mm256_set1_ps(Highest(x, n));
  Doubles sums{_mm256_setzero_pd(), _mm256_setzero_pd()};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 e = Exp(_mm256_sub_ps(_mm256_loadu_ps(x + i), highest));
    _mm256_storeu_ps(x + i, e);
    const Doubles v = Widen(e);
    sums.low = _mm256_add_pd(sums.low, v.low);
    sums.high = _mm256_add_pd(sums.high, v.high);
  }
  DoubleLanes lanes(sums);
  if (i < n) {
    StoreFirst(x + i, Exp(_mm256_sub_ps(LoadFirst(x + i, n - i), highest)), n - i);
    for (size_t l = 0; i + l < n; ++l) {
      lanes.lane[l] += static_cast<double>(x[i + l]);
    }
  }
  Scale(static_cast<float>(1.0 / lanes.Sum()), x, n);
}

void RotatePairs(const float* cos, const float* sin, float* x, size_t pairs) {
  size_t j = 0;
  for (; j + 4 <= pairs; j += 4) {
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    const __m256 c = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cos + j)), twice);
    const __m256 s = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sin + j)), twice);
    const __m256 v = _mm256_loadu_ps(x + 2 * j);
    const __m256 swapped = _mm256_permute_ps(v, 0xb1);
    _mm256_storeu_ps(x + 2 * j, _mm256_fmaddsub_ps(v, c, _mm256_mul_ps(swapped, s)));
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
