#include "kernels/trig.h"

#include <cmath>
#include <cstddef>

namespace coli {
namespace {

// pi / 2 in parts of 22 bits and a rest: the products of the first three with a quadrant number
// below 2^31 are exact.
constexpr double kHalfPi[] = {0x1.921fbp+0, 0x1.5110bp-22, 0x1.184698p-44, 0x1.3198a2e037073p-69};
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

// Taylor coefficients, highest power first: the next term is below 1e-16 on |r| <= pi / 4.
constexpr double kSine[] = {0x1.952c77030ad4ap-49,  -0x1.ae7f3e733b81fp-41, 0x1.6124613a86d09p-33,
                            -0x1.ae64567f544e4p-26, 0x1.71de3a556c734p-19,  -0x1.a01a01a01a01ap-13,
                            0x1.1111111111111p-7,   -0x1.5555555555555p-3};
constexpr double kCosine[] = {
    0x1.ae7f3e733b81fp-45, -0x1.93974a8c07c9dp-37, 0x1.1eed8eff8d898p-29, -0x1.27e4fb7789f5cp-22,
    0x1.a01a01a01a01ap-16, -0x1.6c16c16c16c17p-10, 0x1.5555555555555p-5,  -0x1p-1};

template <size_t kTerms>
double Horner(const double (&coefficients)[kTerms], double x) {
  double sum = 0;
  for (const double coefficient : coefficients) {
    sum = sum * x + coefficient;
  }
  return sum;
}

}  // namespace

SinCosPair SinCos(float angle) {
  const double a = static_cast<double>(angle);
  const double quadrants = std::floor(a * kTwoOverPi + 0.5);
  double r = a;
  for (const double part : kHalfPi) {
    r -= quadrants * part;
  }

  const double square = r * r;
  const auto sine = static_cast<float>(r + r * (square * Horner(kSine, square)));
  const auto cosine = static_cast<float>(1.0 + square * Horner(kCosine, square));

  switch (static_cast<int64_t>(quadrants) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

float RopeInverseFrequency(float theta, uint32_t j, uint32_t rotary_dims) {
  const float exponent = static_cast<float>(2 * j) / static_cast<float>(rotary_dims);
  const auto power =
      static_cast<float>(std::pow(static_cast<double>(theta), static_cast<double>(exponent)));
  return 1.0F / power;
}

}  // namespace coli
