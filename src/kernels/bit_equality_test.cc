// The bits of every instruction set beside those of the reference: formats x rows x columns x
// tokens, with codes and activations at the ends of their ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/testing/test_matrix.h"
#include "kernels/testing/tested_kernels.h"

namespace coli {
namespace {

using testing::AllGeometries;
using testing::GuardedBuffer;
using testing::NameOf;
using testing::Prepared;
using testing::SpikyValues;
using testing::TestedKernels;
using testing::TestMatrix;

constexpr uint32_t kMostRows = 17;
constexpr uint32_t kMostTokens = 17;
constexpr uint32_t kCounts[] = {1, 2, 3, 4, 5, 8, 16, 17};  // of rows, and of tokens

// Products of the first `rows` rows and `tokens` tokens, in front of an unreadable page.
std::vector<float> FirstProducts(const MatrixKernels& kernels, const WeightView& w,
                                 const Prepared& x, uint32_t rows, uint32_t tokens) {
  const GuardedBuffer<float> y(size_t{tokens} * rows);
  PreparedRows first = x.rows();
  first.tokens = tokens;
  kernels.multiply(w.Rows(0, rows), first, 0, rows, y.data(), rows);
  return {y.data(), y.data() + y.size()};
}

// The part of the products of all rows and tokens that FirstProducts computes.
std::vector<float> FirstOf(const std::vector<float>& all, uint32_t rows, uint32_t tokens) {
  std::vector<float> first;
  for (uint32_t t = 0; t < tokens; ++t) {
    first.insert(first.end(), all.begin() + t * kMostRows, all.begin() + t * kMostRows + rows);
  }
  return first;
}

// Every instruction set on every number of rows and tokens up to the most.
void ExpectBitsOfTheReference(const TestMatrix& matrix, const std::vector<float>& x,
                              const std::string& what) {
  const WeightView w = matrix.view();
  const MatrixKernels& scalar = AvailableKernels().front()->For(w.format);
  const std::vector<float> all = FirstProducts(
      scalar, w, Prepared(scalar, w.format, w.cols, kMostTokens, x.data()), kMostRows, kMostTokens);
  for (const KernelTable* table : TestedKernels()) {
    const MatrixKernels& kernels = table->For(w.format);
    const Prepared prepared(kernels, w.format, w.cols, kMostTokens, x.data());
    for (const uint32_t rows : kCounts) {
      for (const uint32_t tokens : kCounts) {
        if (rows != kMostRows && tokens != kMostTokens && rows != tokens) {
          continue;  // the edges and the diagonal of the square
        }
        ASSERT_TRUE(testing::SameBits(FirstProducts(kernels, w, prepared, rows, tokens),
                                      FirstOf(all, rows, tokens)))
            << table->name << " " << NameOf(w.format) << " " << rows << " x " << w.cols
            << ", tokens " << tokens << ", " << what;
      }
    }
  }
}

class BitEquality : public ::testing::TestWithParam<Format> {
 protected:
  void SetUp() override {
    if (TestedKernels().empty()) {
      GTEST_SKIP() << "only the reference runs on this CPU";
    }
  }
};

// From one column to some past two segments of 256, or of the format's own.
TEST_P(BitEquality, EveryRemainderOfColumns) {
  for (const uint32_t whole : {0U, 512U}) {
    for (uint32_t past = 1; past <= 130; past += past < 18 ? 1 : 7) {
      const uint32_t cols = whole + past;
      const TestMatrix matrix(GetParam(), kMostRows, cols, cols);
      ExpectBitsOfTheReference(matrix, SpikyValues(size_t{kMostTokens} * cols, cols), "random");
    }
  }
}

// Rows of activations that do not fit the first-level cache, and of which 17 do not fit the second:
// other tiles and blocks of tokens than above.
TEST_P(BitEquality, WideRows) {
  for (const uint32_t cols : {3001U, 8200U}) {
    const TestMatrix matrix(GetParam(), kMostRows, cols, cols);
    ExpectBitsOfTheReference(matrix, SpikyValues(size_t{kMostTokens} * cols, cols), "random");
  }
}

std::vector<float> AtTheEnds(uint32_t cols, uint32_t kind) {
  std::vector<float> x(size_t{kMostTokens} * cols, 0.0F);
  for (size_t i = 0; i < x.size(); ++i) {
    const float sign = i % 3 == 0 ? -1.0F : 1.0F;
    switch (kind) {
      case 0:  // codes of 32767
        x[i] = 1.0F;
        break;
      case 1:  // of -32767
        x[i] = -1.0F;
        break;
      case 2:
        x[i] = sign * 3e38F;
        break;
      case 3:  // zeros of both signs
        x[i] = sign * 0.0F;
        break;
      case 4:  // subnormals
        x[i] = sign * static_cast<float>(1 + i % 70000) * 0x1p-149F;
        break;
      default:  // one huge outlier per row makes all others 0
        x[i] = i % cols == cols / 2 ? 1e30F : sign;
    }
  }
  return x;
}

// All bits clear or set, a nibble or byte of the lowest and of the highest code.
TEST_P(BitEquality, CodesAndActivationsAtTheEndsOfTheirRanges) {
  const bool integer = Info(GetParam()).arithmetic == Arithmetic::kInteger;
  for (const uint32_t cols : {512U, 385U}) {
    TestMatrix matrix(GetParam(), kMostRows, cols, cols);
    for (uint32_t kind = 0; kind < 6; ++kind) {
      ExpectBitsOfTheReference(matrix, AtTheEnds(cols, kind),
                               "activations " + std::to_string(kind));
    }
    for (const uint32_t byte : {0x00U, 0xffU, 0x80U, 0x7fU, 0x88U, 0x77U}) {
      if (!integer) {
        break;  // such bytes may be NaN, whose bits are not promised
      }
      std::ranges::fill(matrix.codes(), static_cast<std::byte>(byte));
      for (uint32_t kind = 0; kind < 3; ++kind) {
        ExpectBitsOfTheReference(
            matrix, AtTheEnds(cols, kind),
            "codes " + std::to_string(byte) + ", activations " + std::to_string(kind));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, BitEquality, ::testing::ValuesIn(AllGeometries()),
                         [](const ::testing::TestParamInfo<Format>& instance) {
                           std::string name = NameOf(instance.param);
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '/'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace coli
