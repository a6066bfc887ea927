// Products: every format on every instruction set, against the reference bit by bit and against f64
// within the bound that the arithmetic implies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/testing/test_matrix.h"
#include "tensor/e4m3.h"

namespace coli {
namespace {

using testing::AllGeometries;
using testing::NameOf;
using testing::Prepared;
using testing::Product;
using testing::SameBits;
using testing::SpikyValues;
using testing::TestMatrix;

constexpr uint32_t kRows[] = {1, 3, 17};
constexpr uint32_t kCols[] = {1, 2, 7, 16, 31, 33, 63, 64, 65, 100, 255, 256, 257, 511, 576, 1000};
constexpr uint32_t kTokens[] = {1, 2, 3, 4, 5, 8, 16};

std::string Place(const KernelTable& table, Format format, uint32_t rows, uint32_t cols,
                  uint32_t tokens) {
  return std::string(table.name) + " " + NameOf(format) + " " + std::to_string(rows) + "x" +
         std::to_string(cols) + " tokens " + std::to_string(tokens);
}

const KernelTable& Scalar() { return *AvailableKernels().front(); }

class EveryFormat : public ::testing::TestWithParam<Format> {};

TEST_P(EveryFormat, AllInstructionSetsGiveTheBitsOfTheReference) {
  for (const uint32_t rows : kRows) {
    for (const uint32_t cols : kCols) {
      const TestMatrix matrix(GetParam(), rows, cols, rows * 1000 + cols);
      for (const uint32_t tokens : kTokens) {
        const std::vector<float> x = SpikyValues(size_t{tokens} * cols, cols + tokens);
        const std::vector<float> expected =
            Product(Scalar().For(GetParam()), matrix.view(), x, tokens);
        for (const KernelTable* table : AvailableKernels()) {
          const std::vector<float> found =
              Product(table->For(GetParam()), matrix.view(), x, tokens);
          ASSERT_TRUE(SameBits(found, expected)) << Place(*table, GetParam(), rows, cols, tokens);
        }
      }
    }
  }
}

// Rounding an activation to a step of max|x| / 32767 of its segment costs half a step times the
// weight; every f32 addition of a lane, and the few of the tree, one rounding of what has been
// added.
double Bound(const FormatInfo& info, Format format, const std::vector<float>& w, const float* x) {
  const size_t segment = SegmentColumns(format);
  double products = 0;
  double rounding = 0;
  for (size_t begin = 0; begin < w.size(); begin += segment) {
    const size_t end = std::min(w.size(), begin + segment);
    double absmax = 0;
    double weights = 0;
    for (size_t c = begin; c < end; ++c) {
      absmax = std::max<double>(absmax, std::fabs(x[c]));
      weights += std::fabs(w[c]);
      products += std::fabs(static_cast<double>(w[c]) * static_cast<double>(x[c]));
    }
    rounding += info.arithmetic == Arithmetic::kInteger ? 0.5001 * absmax / 32767 * weights : 0;
  }
  const double additions = info.arithmetic == Arithmetic::kInteger
                               ? static_cast<double>(w.size() / segment) + 12
                               : static_cast<double>(w.size()) / 16 + 8;
  return rounding + additions * 0x1p-24 * products + 1e-38;
}

TEST_P(EveryFormat, AgreesWithDoublePrecision) {
  const FormatInfo& info = Info(GetParam());
  for (const uint32_t cols : kCols) {
    const TestMatrix matrix(GetParam(), 3, cols, cols);
    const std::vector<float> x = SpikyValues(2 * cols, cols);
    const std::vector<float> y = Product(Scalar().For(GetParam()), matrix.view(), x, 2);
    for (uint32_t r = 0; r < 3; ++r) {
      const std::vector<float> w = matrix.DecodedRow(r);
      for (uint32_t t = 0; t < 2; ++t) {
        double expected = 0;
        for (uint32_t c = 0; c < cols; ++c) {
          expected += static_cast<double>(w[c]) * static_cast<double>(x[t * cols + c]);
        }
        ASSERT_NEAR(y[t * 6 + r], expected, Bound(info, GetParam(), w, x.data() + t * cols))
            << cols << " " << r;
      }
    }
  }
}

TEST_P(EveryFormat, RowAloneEqualsRowInBatch) {
  constexpr uint32_t kBatch = 16;
  const uint32_t cols = 321;
  const TestMatrix matrix(GetParam(), 17, cols, 5);
  const std::vector<float> x = SpikyValues(kBatch * cols, 6);
  for (const KernelTable* table : AvailableKernels()) {
    const MatrixKernels& kernels = table->For(GetParam());
    const std::vector<float> batch = Product(kernels, matrix.view(), x, kBatch);
    for (uint32_t t = 0; t < kBatch; ++t) {
      const std::vector<float> alone =
          Product(kernels, matrix.view(),
                  std::vector<float>(x.begin() + t * cols, x.begin() + (t + 1) * cols), 1);
      ASSERT_TRUE(std::equal(alone.begin(), alone.begin() + 17, batch.begin() + t * 20))
          << table->name << " " << t;
    }
  }
}

TEST_P(EveryFormat, RowRangesMaySplitAnywhere) {
  const uint32_t rows = 150;  // more than two blocks of rows
  const uint32_t cols = 130;
  const uint32_t tokens = 3;
  const TestMatrix matrix(GetParam(), rows, cols, 8);
  const std::vector<float> x = SpikyValues(tokens * cols, 9);
  for (const KernelTable* table : AvailableKernels()) {
    const MatrixKernels& kernels = table->For(GetParam());
    const Prepared prepared(kernels, GetParam(), cols, tokens, x.data());
    std::vector<float> whole(tokens * rows);
    kernels.multiply(matrix.view(), prepared.rows(), 0, rows, whole.data(), rows);
    for (const uint32_t split : {0U, 1U, 63U, 64U, 65U, 149U, 150U}) {
      std::vector<float> parts(tokens * rows, -1.0F);
      kernels.multiply(matrix.view(), prepared.rows(), split, rows, parts.data(), rows);
      kernels.multiply(matrix.view(), prepared.rows(), 0, split, parts.data(), rows);
      ASSERT_TRUE(SameBits(parts, whole)) << table->name << " " << split;
    }
  }
}

// Whatever share of a block of scales a part begins with.
TEST_P(EveryFormat, PartsOfAMatrixGiveItsRows) {
  const uint32_t rows = 270;
  const uint32_t cols = 130;
  const TestMatrix matrix(GetParam(), rows, cols, 21);
  const std::vector<float> x = SpikyValues(cols, 22);
  const std::vector<float> whole = Product(Scalar().For(GetParam()), matrix.view(), x, 1);
  for (const auto& [begin, count] : {std::pair{1U, 200U}, {100U, 50U}, {128U, 142U}, {269U, 1U}}) {
    const WeightView part = matrix.view().Rows(begin, count);
    const std::vector<float> x_rows = SpikyValues(count, 23);
    std::vector<float> expected(cols);
    Scalar().For(GetParam()).multiply_transposed(part, x_rows.data(), expected.data());
    for (const KernelTable* table : AvailableKernels()) {
      const std::vector<float> y = Product(table->For(GetParam()), part, x, 1);
      std::vector<float> transposed(cols);
      table->For(GetParam()).multiply_transposed(part, x_rows.data(), transposed.data());

      EXPECT_TRUE(std::equal(y.begin(), y.begin() + count, whole.begin() + begin))
          << table->name << " " << begin;
      EXPECT_TRUE(SameBits(transposed, expected)) << table->name << " " << begin;
    }
  }
}

TEST_P(EveryFormat, TransposedProductsGiveTheBitsOfTheReferenceAndAgreeWithDouble) {
  for (const uint32_t rows : {1U, 3U, 4U, 17U}) {
    for (const uint32_t cols : kCols) {
      const TestMatrix matrix(GetParam(), rows, cols, rows + cols);
      const std::vector<float> x = SpikyValues(rows, cols);
      std::vector<double> expected(cols, 0.0);
      std::vector<double> products(cols, 0.0);
      for (uint32_t r = 0; r < rows; ++r) {
        const std::vector<float> w = matrix.DecodedRow(r);
        for (uint32_t c = 0; c < cols; ++c) {
          expected[c] += static_cast<double>(x[r]) * static_cast<double>(w[c]);
          products[c] += std::fabs(static_cast<double>(x[r]) * static_cast<double>(w[c]));
        }
      }
      std::vector<float> reference(cols);
      Scalar().For(GetParam()).multiply_transposed(matrix.view(), x.data(), reference.data());
      for (uint32_t c = 0; c < cols; ++c) {
        ASSERT_NEAR(reference[c], expected[c], (rows + 3) * 0x1p-24 * products[c] + 1e-38)
            << rows << "x" << cols;
      }
      for (const KernelTable* table : AvailableKernels()) {
        const testing::GuardedBuffer<float> y(cols);
        std::fill_n(y.data(), cols, 5.0F);
        table->For(GetParam()).multiply_transposed(matrix.view(), x.data(), y.data());
        ASSERT_EQ(std::memcmp(y.data(), reference.data(), cols * sizeof(float)), 0)
            << Place(*table, GetParam(), rows, cols, 1);
      }
    }
  }
}

TEST_P(EveryFormat, ExtremeActivationsGiveTheBitsOfTheReference) {
  const uint32_t cols = 600;
  const TestMatrix matrix(GetParam(), 5, cols, 11);
  const std::vector<std::vector<float>> inputs = {
      std::vector<float>(cols, 0.0F),
      std::vector<float>(cols, -0.0F),
      std::vector<float>(cols, 0x1p-149F),          // the scale of a segment rounds to 0
      std::vector<float>(cols, 30000 * 0x1p-149F),  // to the smallest subnormal
      std::vector<float>(cols, 49000 * 0x1p-149F),  // and x / scale exceeds 32767
      std::vector<float>(cols, -49000 * 0x1p-149F),
      std::vector<float>(cols, 0x1p-126F),
      std::vector<float>(cols, 3e38F),
      std::vector<float>(cols, -1.0F),
  };
  for (const std::vector<float>& x : inputs) {
    const std::vector<float> expected = Product(Scalar().For(GetParam()), matrix.view(), x, 1);
    for (const KernelTable* table : AvailableKernels()) {
      ASSERT_TRUE(SameBits(Product(table->For(GetParam()), matrix.view(), x, 1), expected))
          << table->name << " " << x[0];
    }
  }
}

TEST_P(EveryFormat, ActivationsThatAreNotFiniteAreNeverHidden) {
  const uint32_t cols = 300;
  const TestMatrix matrix(GetParam(), 2, cols, 12);
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x = SpikyValues(cols, 13);
    x[7] = bad;
    x[8] = -bad;
    for (const KernelTable* table : AvailableKernels()) {
      const std::vector<float> y = Product(table->For(GetParam()), matrix.view(), x, 1);
      EXPECT_FALSE(std::isfinite(y[0])) << table->name;
      EXPECT_FALSE(std::isfinite(y[1])) << table->name;
    }
  }
}

TEST_P(EveryFormat, PreparedRowsAreWholeLines) {
  for (const KernelTable* table : AvailableKernels()) {
    for (const uint32_t cols : kCols) {
      EXPECT_EQ(table->For(GetParam()).prepared_bytes(GetParam(), cols) % 64, 0u)
          << table->name << " " << cols;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryFormat, ::testing::ValuesIn(AllGeometries()),
                         [](const ::testing::TestParamInfo<Format>& instance) {
                           std::string name = NameOf(instance.param);
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '/'; }, '_');
                           return name;
                         });

// Every code, NaN included: row r of a matrix of 16 columns holds code r.
TEST(Fp8Product, EveryCodeIsItsValueTimesItsScale) {
  const Format format{FormatId::kFp8E4m3B128};
  constexpr uint32_t kCodes = 256;
  std::vector<std::byte> codes;
  for (uint32_t code = 0; code < kCodes; ++code) {
    codes.insert(codes.end(), 16, static_cast<std::byte>(code));
  }
  std::vector<float> x(16, 0.0F);
  x[3] = 1.0F;
  for (const float scale : {1.0F, 0.3F, 0x1p-140F, 7e35F}) {
    const float scales[] = {scale, scale};
    const WeightView w{codes.data(), reinterpret_cast<const std::byte*>(scales), kCodes, 16,
                       format};
    for (const KernelTable* table : AvailableKernels()) {
      const std::vector<float> y = Product(table->For(format), w, x, 1);
      for (uint32_t code = 0; code < kCodes; ++code) {
        const float expected = FloatFromE4m3(static_cast<uint8_t>(code)) * scale;
        float transposed[16];
        table->For(format).multiply_transposed(w.Rows(code, 1), &x[3], transposed);
        if ((code & 0x7fU) == 0x7fU) {
          EXPECT_TRUE(std::isnan(y[code]) && std::isnan(transposed[15])) << table->name;
        } else {
          EXPECT_EQ(y[code], expected) << table->name << " " << code;
          EXPECT_EQ(transposed[15], expected) << table->name << " " << code;
        }
      }
    }
  }
}

TEST(Fp8Product, GivesTheBitsOfTheF32MatrixThatItDecodesTo) {
  const uint32_t rows = 150;
  const uint32_t cols = 300;
  const TestMatrix matrix({FormatId::kFp8E4m3B128}, rows, cols, 31);
  std::vector<float> decoded;
  for (uint32_t r = 0; r < rows; ++r) {
    const std::vector<float> row = matrix.DecodedRow(r);
    decoded.insert(decoded.end(), row.begin(), row.end());
  }
  const WeightView w{
      std::as_bytes(std::span(decoded)).data(), nullptr, rows, cols, {FormatId::kF32}};
  const std::vector<float> x = SpikyValues(3 * cols, 32);
  for (const KernelTable* table : AvailableKernels()) {
    const MatrixKernels& fp8 = table->For({FormatId::kFp8E4m3B128});
    const MatrixKernels& f32 = table->For({FormatId::kF32});
    EXPECT_TRUE(SameBits(Product(fp8, matrix.view(), x, 3), Product(f32, w, x, 3))) << table->name;
  }
}

// A byte of codes of the largest magnitude.
std::byte LargestCodes(FormatId id) {
  switch (id) {
    case FormatId::kInt8Row:
      return std::byte{0x80};
    case FormatId::kMxfp4:
      return std::byte{0xff};
    default:
      return std::byte{0x00};
  }
}

// The largest sums that the codes allow: all of them at the end of their range, activations too.
TEST(IntegerProduct, LargestCodesDoNotOverflow) {
  const uint32_t cols = 512;
  for (const Format format : AllGeometries()) {
    if (Info(format).arithmetic != Arithmetic::kInteger) {
      continue;
    }
    const TestMatrix matrix(format, 1, cols, 14);
    std::ranges::fill(matrix.codes(), LargestCodes(format.id));
    const std::vector<float> w = matrix.DecodedRow(0);
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> x(cols, sign);
      double expected = 0;
      for (const float value : w) {
        expected += static_cast<double>(value * sign);
      }
      for (const KernelTable* table : AvailableKernels()) {
        const std::vector<float> y = Product(table->For(format), matrix.view(), x, 1);
        EXPECT_NEAR(y[0], expected, 1e-5 * std::fabs(expected))
            << table->name << " " << NameOf(format);
      }
    }
  }
}

// The rule for one row, worked out by hand: activations 1, -0.5 and 0.25 become 32767, -16384
// (16383.5 goes to the even neighbour) and 8192 (8191.75); the sum of lane 0 is 3 * 32767 + 2 *
// 16384 + 8192 = 139261.
TEST(IntegerProduct, KnownValue) {
  const Format format{FormatId::kInt4Row};
  const std::byte codes[] = {std::byte{0x6b}, std::byte{0x09}};  // 3, -2, 1
  const float scales[] = {0.5F};
  const WeightView w{codes, reinterpret_cast<const std::byte*>(scales), 1, 3, format};
  const float step = 1.0F / 32767.0F;

  for (const KernelTable* table : AvailableKernels()) {
    const std::vector<float> y = Product(table->For(format), w, {1.0F, -0.5F, 0.25F}, 1);

    EXPECT_EQ(y[0], (139261.0F * step) * 0.5F) << table->name;
  }
}

}  // namespace
}  // namespace coli
