// Vector functions: every instruction set against the reference bit by bit, the reference against
// long double and against golden values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/reference/reference.h"
#include "kernels/testing/test_matrix.h"

namespace coli {
namespace {

using testing::GuardedBuffer;
using testing::SpikyValues;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kSizes[] = {1,  2,  3,  4,  5,   7,   8,   9,   15,  16,
                             17, 31, 33, 64, 100, 128, 255, 576, 1001};

// The error of `found` in units of the last place of the exact value; subnormal results have the
// unit 2^-149.
long double UlpError(float found, long double exact) {
  if (std::isinf(found)) {
    return exact > std::numeric_limits<float>::max() ? 0.0L : 1e9L;
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent - 24, -149));
  return std::fabs(static_cast<long double>(found) - exact) / unit;
}

uint32_t BitsOf(float x) { return std::bit_cast<uint32_t>(x); }

// Calls `run(kernels, x, y)` with n values of x and y (y also input) and compares what all tables
// make of y.
using VectorCall = std::function<void(const VectorKernels&, const float* x, float* y, size_t n)>;

void ExpectSameBits(const VectorCall& run, size_t n, const std::vector<float>& x_values,
                    const std::vector<float>& y_values) {
  std::vector<float> expected;
  for (const KernelTable* table : AvailableKernels()) {
    const GuardedBuffer<float> x(n);
    const GuardedBuffer<float> y(n);
    std::copy_n(x_values.begin(), n, x.data());
    std::copy_n(y_values.begin(), n, y.data());
    run(table->vector, x.data(), y.data(), n);
    if (expected.empty()) {
      expected.assign(y.data(), y.data() + n);
    }
    ASSERT_EQ(std::memcmp(y.data(), expected.data(), n * sizeof(float)), 0)
        << table->name << " n " << n;
  }
}

void ExpectSameBitsForAllSizes(const VectorCall& run) {
  for (const size_t n : kSizes) {
    ExpectSameBits(run, n, SpikyValues(n, static_cast<uint32_t>(n)),
                   SpikyValues(n, static_cast<uint32_t>(n) + 1));
  }
}

TEST(VectorKernels, AllInstructionSetsGiveTheBitsOfTheReference) {
  const std::vector<std::pair<std::string, VectorCall>> functions = {
      {"dot", [](auto& k, auto* x, auto* y, auto n) { y[0] = k.dot(x, y, n); }},
      {"axpy", [](auto& k, auto* x, auto* y, auto n) { k.axpy(1.7F, x, y, n); }},
      {"add", [](auto& k, auto* x, auto* y, auto n) { k.add(x, y, n); }},
      {"scale", [](auto& k, auto*, auto* y, auto n) { k.scale(0.3F, y, n); }},
      {"rms_norm", [](auto& k, auto* x, auto* y, auto n) { k.rms_norm(x, y, 1e-5F, y, n); }},
      {"layer_norm", [](auto& k, auto* x, auto* y, auto n) { k.layer_norm(y, x, x, 1e-6F, y, n); }},
      {"silu_mul", [](auto& k, auto* x, auto* y, auto n) { k.silu_mul(x, y, y, n); }},
      {"sigmoid", [](auto& k, auto* x, auto* y, auto n) { k.sigmoid(x, y, n); }},
      {"softmax", [](auto& k, auto*, auto* y, auto n) { k.softmax(y, n); }},
      {"rotate_pairs",
       [](auto& k, auto* x, auto* y, auto n) { k.rotate_pairs(x, x + n / 2, y, n / 2); }},
  };
  for (const auto& [name, run] : functions) {
    SCOPED_TRACE(name);
    ExpectSameBitsForAllSizes(run);
  }
}

// A block of rows and vectors that lie apart, each in front of an unreadable page.
struct VectorBlock {
  VectorBlock(size_t rows, size_t vectors, size_t n) : values(SpikyValues(rows * n, 7)) {
    for (size_t k = 0; k < vectors; ++k) {
      buffers.push_back(std::make_unique<GuardedBuffer<float>>(n));
      const std::vector<float> x = SpikyValues(n, static_cast<uint32_t>(100 + k));
      std::copy(x.begin(), x.end(), buffers.back()->data());
      pointers.push_back(buffers.back()->data());
    }
  }
  FloatVectors vectors() const { return {pointers.data(), pointers.size()}; }

  std::vector<float> values;
  std::vector<std::unique_ptr<GuardedBuffer<float>>> buffers;
  std::vector<const float*> pointers;
};

// Every count up to past the tiles of any instruction set.
constexpr size_t kBlockCounts[] = {0, 1, 2, 3, 4, 5, 8, 11};
constexpr size_t kBlockSizes[] = {1, 7, 15, 16, 17, 40, 64, 83};

TEST(VectorKernels, DotsAreTheDotsOfAllPairs) {
  for (const size_t rows : kBlockCounts) {
    for (const size_t vectors : kBlockCounts) {
      for (const size_t n : kBlockSizes) {
        const VectorBlock block(rows, vectors, n);
        const size_t stride = vectors + 2;
        for (const KernelTable* table : AvailableKernels()) {
          std::vector<float> out(rows * stride, -7);
          table->vector.dots({block.values.data(), n, rows}, block.vectors(), n, out.data(),
                             stride);
          for (size_t i = 0; i < out.size(); ++i) {
            const size_t r = i / stride;
            const size_t k = i % stride;
            const float expected = k < vectors ? ReferenceVector().dot(block.values.data() + r * n,
                                                                       block.pointers[k], n)
                                               : -7;
            ASSERT_EQ(BitsOf(out[i]), BitsOf(expected))
                << table->name << ": " << rows << " x " << vectors << " of " << n << ", at " << r
                << ", " << k;
          }
        }
      }
    }
  }
}

TEST(VectorKernels, AxpysAddTheVectorsInAscendingOrder) {
  for (const size_t rows : kBlockCounts) {
    for (const size_t vectors : kBlockCounts) {
      for (const size_t n : kBlockSizes) {
        const VectorBlock block(0, vectors, n);
        const size_t factor_stride = vectors + 2;
        const size_t stride = n + 3;
        const std::vector<float> factors = SpikyValues(rows * factor_stride, 3);
        const std::vector<float> start = SpikyValues(rows * stride, 5);
        std::vector<float> expected = start;
        for (size_t r = 0; r < rows; ++r) {
          for (size_t k = 0; k < vectors; ++k) {
            ReferenceVector().axpy(factors[r * factor_stride + k], block.pointers[k],
                                   expected.data() + r * stride, n);
          }
        }
        for (const KernelTable* table : AvailableKernels()) {
          std::vector<float> y = start;
          table->vector.axpys({factors.data(), factor_stride, rows}, block.vectors(), n, y.data(),
                              stride);
          ASSERT_TRUE(std::ranges::equal(y, expected, {}, BitsOf, BitsOf))
              << table->name << ": " << rows << " x " << vectors << " of " << n;
        }
      }
    }
  }
}

// All exponents and signs, infinities included, in every position of a register.
TEST(VectorKernels, ExponentialsGiveTheBitsOfTheReferenceEverywhere) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 100003) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    values.push_back(std::isnan(value) ? 1.0F : value);
  }
  for (const float value :
       {kInfinity, -kInfinity, 0.0F, -0.0F, 88.7F, 88.8F, -87.4F, -103.9F, -104.1F}) {
    values.push_back(value);
  }
  const std::vector<float> ones(values.size(), 1.0F);

  ExpectSameBits([](auto& k, auto* x, auto* y, auto n) { k.sigmoid(x, y, n); }, values.size(),
                 values, ones);
  // Without the infinities: -infinity * 0 is a NaN of either sign.
  ExpectSameBits([](auto& k, auto* x, auto* y, auto n) { k.silu_mul(x, y, y, n); },
                 values.size() - 9, values, ones);
}

TEST(VectorKernels, DotAgreesWithDoublePrecision) {
  for (const size_t n : kSizes) {
    const std::vector<float> a = SpikyValues(n, 1);
    const std::vector<float> b = SpikyValues(n, 2);
    double expected = 0;
    double products = 0;
    for (size_t i = 0; i < n; ++i) {
      expected += static_cast<double>(a[i]) * static_cast<double>(b[i]);
      products += std::fabs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
    }
    const double additions = static_cast<double>(n) / 16 + 6;
    EXPECT_NEAR(ReferenceVector().dot(a.data(), b.data(), n), expected,
                additions * 0x1p-24 * products + 1e-38);
  }
}

TEST(VectorKernels, ElementwiseFunctionsRoundAsTheySay) {
  float y[] = {1, 2, 3};
  const float x[] = {10, -20, 0.5F};

  ReferenceVector().axpy(2, x, y, 3);
  EXPECT_EQ(y[0], 21);
  EXPECT_EQ(y[1], -38);
  EXPECT_EQ(y[2], 4);
  ReferenceVector().add(x, y, 3);
  EXPECT_EQ(y[0], 31);
  ReferenceVector().scale(0.5F, y, 3);
  EXPECT_EQ(y[0], 15.5F);
  EXPECT_EQ(y[1], -29);
}

TEST(RmsNorm, GoldenValues) {
  const float x[] = {0.01F, -0.02F, 0.03F, 0.04F};
  const float w[] = {1, 1, 2, 0.5F};
  for (const KernelTable* table : AvailableKernels()) {
    float y[4];
    table->vector.rms_norm(x, w, 1e-5F, y, 4);
    EXPECT_NEAR(y[0], 0.362738F, 1e-6F);
    EXPECT_NEAR(y[1], -0.725476F, 1e-6F);
    EXPECT_NEAR(y[2], 2.176429F, 1e-6F);
    EXPECT_NEAR(y[3], 0.725476F, 1e-6F);
    table->vector.rms_norm(x, w, 1e-6F, y, 4);
    EXPECT_NEAR(y[0], 0.364905F, 1e-6F);
    EXPECT_NEAR(y[2], 2.189431F, 1e-6F);
  }
}

TEST(LayerNorm, GoldenValues) {
  const float x[] = {1, 2, 3, 6};
  const float w[] = {1, 0.5F, 2, 1};
  const float b[] = {0, 0.1F, -0.1F, 0.2F};
  for (const KernelTable* table : AvailableKernels()) {
    float y[4];
    table->vector.layer_norm(x, w, b, 1e-6F, y, 4);
    EXPECT_NEAR(y[0], -1.069045F, 1e-6F);
    EXPECT_NEAR(y[1], -0.167261F, 1e-6F);
    EXPECT_NEAR(y[2], -0.1F, 1e-6F);
    EXPECT_NEAR(y[3], 1.803567F, 1e-6F);
  }
}

TEST(Exp, IsWithinOneUlpOfTheExactValue) {
  long double worst = 0;
  for (float x = -104.5F; x < 89.0F; x += 0.000317F) {
    worst = std::max(worst, UlpError(ReferenceExp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.0L);
  RecordProperty("worst_ulp_times_1000", static_cast<int>(worst * 1000));
}

TEST(Exp, EdgesOfItsRange) {
  EXPECT_EQ(ReferenceExp(0.0F), 1.0F);
  EXPECT_EQ(ReferenceExp(-0.0F), 1.0F);
  EXPECT_EQ(ReferenceExp(-kInfinity), 0.0F);
  EXPECT_EQ(ReferenceExp(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(ReferenceExp(kNan)));
  EXPECT_LT(ReferenceExp(88.72283F), kInfinity);  // the last argument below ln(2^128)
  EXPECT_EQ(ReferenceExp(88.72284F), kInfinity);
  EXPECT_EQ(ReferenceExp(-103.97F), 0x1p-149F);
  EXPECT_EQ(ReferenceExp(-103.98F), 0.0F);
  EXPECT_EQ(ReferenceExp(-3e38F), 0.0F);
}

TEST(Sigmoid, IsWithinTwoAndAHalfUlp) {
  long double worst = 0;
  for (float x = -103.0F; x < 30.0F; x += 0.000713F) {
    float y = 0;
    ReferenceVector().sigmoid(&x, &y, 1);
    worst = std::max(worst, UlpError(y, 1 / (1 + std::exp(-static_cast<long double>(x)))));
  }
  EXPECT_LT(worst, 2.5L);
  RecordProperty("worst_ulp_times_1000", static_cast<int>(worst * 1000));
}

TEST(Sigmoid, Edges) {
  const float x[] = {kInfinity, -kInfinity, 0, 3e38F, -3e38F, kNan};
  for (const KernelTable* table : AvailableKernels()) {
    float y[6];
    table->vector.sigmoid(x, y, 6);
    EXPECT_EQ(y[0], 1.0F);
    EXPECT_EQ(y[1], 0.0F);
    EXPECT_EQ(y[2], 0.5F);
    EXPECT_EQ(y[3], 1.0F);
    EXPECT_EQ(y[4], 0.0F);
    EXPECT_TRUE(std::isnan(y[5]));
  }
}

TEST(SiluMul, IsFiniteAndRightForLargeArguments) {
  const float gate[] = {1000, -1000, 3e38F, -3e38F, 1, -1, -100, 0};
  const float up[] = {2, 2, 1, 1, 3, 3, 1, 5};
  for (const KernelTable* table : AvailableKernels()) {
    float y[8];
    table->vector.silu_mul(gate, up, y, 8);
    EXPECT_EQ(y[0], 2000.0F);
    EXPECT_EQ(y[1], 0.0F);
    EXPECT_EQ(y[2], 3e38F);
    EXPECT_EQ(y[3], 0.0F);
    EXPECT_NEAR(y[4], 2.193176F, 1e-6F);
    EXPECT_NEAR(y[5], -0.806824F, 1e-6F);
    EXPECT_NEAR(y[6], -3.72e-42F, 1e-43F);
    EXPECT_EQ(y[7], 0.0F);
  }
}

TEST(Softmax, AgreesWithLongDouble) {
  const std::vector<float> x = SpikyValues(501, 4);
  const long double highest = *std::ranges::max_element(x);
  long double sum = 0;
  for (const float value : x) {
    sum += std::exp(static_cast<long double>(value) - highest);
  }

  std::vector<float> y = x;
  ReferenceVector().softmax(y.data(), y.size());

  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(x[i]) - highest) / sum;
    // x - max is rounded before exp sees it: half an ulp of a difference of up to 2^8.
    EXPECT_NEAR(y[i], static_cast<double>(exact), static_cast<double>(exact) * 0x1p-16 + 1e-44)
        << i;
  }
}

TEST(Softmax, MaskedEntriesBecomeZero) {
  for (const KernelTable* table : AvailableKernels()) {
    float x[] = {-kInfinity, 1, -kInfinity, 1, 1, 1, -kInfinity, -kInfinity, -kInfinity};
    table->vector.softmax(x, 9);
    EXPECT_EQ(x[0], 0.0F);
    EXPECT_EQ(x[1], 0.25F);
    EXPECT_EQ(x[5], 0.25F);
    EXPECT_EQ(x[8], 0.0F);
  }
}

TEST(Softmax, NanIsNeverHidden) {
  for (const KernelTable* table : AvailableKernels()) {
    for (size_t bad = 0; bad < 11; ++bad) {
      std::vector<float> x(11, 1.0F);
      x[bad] = kNan;
      table->vector.softmax(x.data(), x.size());
      EXPECT_TRUE(std::isnan(x[0])) << table->name << " " << bad;
    }
  }
}

}  // namespace
}  // namespace coli
