#include "synth/row_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tensor/format_name.h"

namespace coli {
namespace {

struct Matrix {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  WeightView View(const RowPool& pool, uint32_t rows) const {
    return {codes.data(), scales.empty() ? nullptr : scales.data(), rows, pool.cols(),
            pool.format()};
  }
};

Matrix Make(const RowPool& pool, uint64_t seed, uint32_t rows) {
  Matrix matrix;
  pool.AppendCodes(seed, 0, rows / 2, matrix.codes);
  pool.AppendCodes(seed, rows / 2, rows, matrix.codes);
  pool.AppendScales(seed, rows, matrix.scales);
  return matrix;
}

class RowPoolTest : public testing::TestWithParam<const char*> {};

TEST_P(RowPoolTest, MatricesHaveTheBytesAndTheDeviation) {
  const Format format = *ParseFormat(GetParam());
  constexpr uint32_t kRows = 300;
  constexpr uint32_t kCols = 768;
  constexpr float kDeviation = 0.25F;
  const RowPool pool = RowPool::Create(format, kCols, kDeviation, 1).value();
  const Matrix matrix = Make(pool, 7, kRows);
  EXPECT_EQ(matrix.codes.size(), CodeBytes(format, kRows, kCols));
  EXPECT_EQ(matrix.scales.size(), ScaleBytes(format, kRows, kCols));
  std::vector<float> row(kCols);
  std::set<std::vector<float>> distinct;
  double squares = 0;
  for (uint32_t r = 0; r < kRows; ++r) {
    DecodeRow(matrix.View(pool, kRows), r, row.data());
    distinct.insert(row);
    for (const float value : row) {
      squares += double{value} * value;
    }
  }
  // 2 bits give the deviation only roughly.
  const double deviation = std::sqrt(squares / (double{kRows} * kCols));
  EXPECT_NEAR(deviation, kDeviation, format.id == FormatId::kInt2Row ? 0.15 : 0.02);
  EXPECT_GT(distinct.size(), kRows * 9 / 10);
}

TEST_P(RowPoolTest, TheSeedDecides) {
  const Format format = *ParseFormat(GetParam());
  const RowPool pool = RowPool::Create(format, 256, 1, 1).value();
  const RowPool again = RowPool::Create(format, 256, 1, 1).value();
  EXPECT_EQ(Make(pool, 3, 128).codes, Make(again, 3, 128).codes);
  EXPECT_EQ(Make(pool, 3, 128).scales, Make(again, 3, 128).scales);
  EXPECT_NE(Make(pool, 3, 128).codes, Make(pool, 4, 128).codes);
}

INSTANTIATE_TEST_SUITE_P(Formats, RowPoolTest,
                         testing::Values("int4-row", "int4-g64", "int4-g16", "int8-row", "int2-row",
                                         "int3-g64", "fp8-e4m3-b128", "bf16", "f32"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace coli
