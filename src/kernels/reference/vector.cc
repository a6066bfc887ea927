#include <bit>
#include <cmath>
#include <limits>

#include "kernels/exp_constants.h"
#include "kernels/reference/lane_tree.h"
#include "kernels/reference/reference.h"

namespace coli {
namespace {

float PowerOfTwo(int32_t exponent) { return std::bit_cast<float>((exponent + 127) << 23); }

float Sigmoid(float x) {
  const float e = ReferenceExp(-std::fabs(x));
  return (x < 0 ? e : 1.0F) / (1.0F + e);
}

float Dot(const float* a, const float* b, size_t n) {
  float lane[16] = {};
  for (size_t i = 0; i < n; ++i) {
    lane[i % 16] = std::fma(a[i], b[i], lane[i % 16]);
  }
  return AddLanes16(lane);
}

void Axpy(float scale, const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    y[i] = std::fma(scale, x[i], y[i]);
  }
}

void Add(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    y[i] += x[i];
  }
}

void Scale(float factor, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    y[i] *= factor;
  }
}

void RmsNorm(const float* x, const float* w, float eps, float* y, size_t n) {
  double lane[8] = {};
  for (size_t i = 0; i < n; ++i) {
    lane[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const double mean_square = AddLanes8(lane) / static_cast<double>(n);
  const auto factor = static_cast<float>(1.0 / std::sqrt(mean_square + static_cast<double>(eps)));
  for (size_t i = 0; i < n; ++i) {
    y[i] = w[i] * (x[i] * factor);
  }
}

void LayerNorm(const float* x, const float* w, const float* b, float eps, float* y, size_t n) {
  double lane[8] = {};
  for (size_t i = 0; i < n; ++i) {
    lane[i % 8] += static_cast<double>(x[i]);
  }
  const double mean = AddLanes8(lane) / static_cast<double>(n);
  double square_lane[8] = {};
  for (size_t i = 0; i < n; ++i) {
    const double difference = static_cast<double>(x[i]) - mean;
    square_lane[i % 8] += difference * difference;
  }
  const double variance = AddLanes8(square_lane) / static_cast<double>(n);
  const double factor = 1.0 / std::sqrt(variance + static_cast<double>(eps));
  for (size_t i = 0; i < n; ++i) {
    const auto normed = static_cast<float>((static_cast<double>(x[i]) - mean) * factor);
    y[i] = std::fma(w[i], normed, b[i]);
  }
}

void SiluMul(const float* gate, const float* up, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    y[i] = (gate[i] * Sigmoid(gate[i])) * up[i];
  }
}

void SigmoidAll(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    y[i] = Sigmoid(x[i]);
  }
}

void Softmax(float* x, size_t n) {
  float highest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < n; ++i) {
    highest = x[i] > highest ? x[i] : highest;
  }
  double lane[8] = {};
  for (size_t i = 0; i < n; ++i) {
    x[i] = ReferenceExp(x[i] - highest);
    lane[i % 8] += static_cast<double>(x[i]);
  }
  const auto factor = static_cast<float>(1.0 / AddLanes8(lane));
  for (size_t i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

void RotatePairs(const float* cos, const float* sin, float* x, size_t pairs) {
  for (size_t j = 0; j < pairs; ++j) {
    const float even = x[2 * j];
    const float odd = x[2 * j + 1];
    x[2 * j] = std::fma(even, cos[j], -(odd * sin[j]));
    x[2 * j + 1] = std::fma(odd, cos[j], even * sin[j]);
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

constexpr VectorKernels kVector{Dot,     Axpy,       Add,     Scale,       RmsNorm, LayerNorm,
                                SiluMul, SigmoidAll, Softmax, RotatePairs, Dots,    Axpys};

}  // namespace

const VectorKernels& ReferenceVector() { return kVector; }

float ReferenceExp(float x) {
  // Written so that NaN passes both limits.
  float limited = kExpHighest < x ? kExpHighest : x;
  limited = kExpLowest > limited ? kExpLowest : limited;

  const float shifted = std::fma(limited, kExpLog2E, kExpRounder);
  const float n = shifted - kExpRounder;
  float r = std::fma(-n, kExpLn2High, limited);
  r = std::fma(-n, kExpLn2Low, r);

  float p = std::fma(kExpC4, r, kExpC3);
  p = std::fma(p, r, kExpC2);
  p = std::fma(p, r, kExpC1);
  p = std::fma(p, r, kExpC0);
  p = std::fma(p, r, 1.0F);
  p = std::fma(p, r, 1.0F);

  if (std::isnan(x)) {
    return p;
  }
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - kExpRounderBits;
  const int32_t half = exponent >> 1;
  return (p * PowerOfTwo(half)) * PowerOfTwo(exponent - half);
}

}  // namespace coli
