#include "tensor/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tensor/format.h"
#include "tensor/testing/geometries.h"

namespace coli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Room {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  QuantizedMatrix matrix;

  Room(Format format, uint32_t rows, uint32_t cols)
      : codes(*CodeBytes(format, rows, cols), std::byte{0xa5}),
        scales(*ScaleBytes(format, rows, cols), std::byte{0xa5}),
        matrix{codes.data(), scales.data(), rows, cols, format} {}
};

std::vector<float> Values(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * 37) % 101) - 50.0F;
  }
  return values;
}

class EveryFormat : public ::testing::TestWithParam<Format> {};

TEST_P(EveryFormat, RangesOfRowsGiveTheBytesOfTheWhole) {
  const uint32_t rows = 300;
  const uint32_t cols = 131;
  const std::vector<float> values = Values(size_t{rows} * cols);
  const ConstMatrixView view{values.data(), rows, cols, cols};
  Room whole(GetParam(), rows, cols);
  Room parts(GetParam(), rows, cols);

  ASSERT_TRUE(QuantizeRows(view, 0, whole.matrix));
  ASSERT_TRUE(QuantizeRows(view.Rows(256, 44), 256, parts.matrix));
  ASSERT_TRUE(QuantizeRows(view.Rows(0, 128), 0, parts.matrix));
  ASSERT_TRUE(QuantizeRows(view.Rows(128, 128), 128, parts.matrix));

  EXPECT_EQ(parts.codes, whole.codes);
  EXPECT_EQ(parts.scales, whole.scales);
}

TEST_P(EveryFormat, ValuesThatAreNotFiniteAreRefusedByRowAndColumn) {
  for (const float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values = Values(200 * 70);
    values[131 * 70 + 69] = bad;
    Room room(GetParam(), 456, 70);

    const Status status = QuantizeRows({values.data(), 200, 70, 70}, 256, room.matrix);

    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kNumeric);
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("row 387, column 69"), HasSubstr("found")));
  }
}

TEST_P(EveryFormat, RowsOfZerosAndOfSubnormalsComeBackAsNumbers) {
  for (const float value : {0.0F, -0.0F, 0x1p-149F, -0x1p-130F}) {
    const std::vector<float> values(3 * 65, value);
    Room room(GetParam(), 3, 65);
    ASSERT_TRUE(QuantizeRows({values.data(), 3, 65, 65}, 0, room.matrix));
    std::vector<float> decoded(65);

    DecodeRow(room.matrix.view(), 2, decoded.data());

    for (const float found : decoded) {
      EXPECT_NEAR(found, value, 1e-9F);
    }
  }
}

TEST_P(EveryFormat, NoRowsAndNoColumnsAreNoWork) {
  Room none(GetParam(), 0, 7);
  EXPECT_TRUE(QuantizeRows({nullptr, 0, 7, 7}, 0, none.matrix));
  Room empty(GetParam(), 3, 0);
  EXPECT_TRUE(QuantizeRows({nullptr, 3, 0, 0}, 0, empty.matrix));
}

INSTANTIATE_TEST_SUITE_P(Quantize, EveryFormat, ::testing::ValuesIn(testing::AllGeometries()),
                         [](const ::testing::TestParamInfo<Format>& instance) {
                           std::string name(Info(instance.param).name);
                           std::ranges::replace(name, '-', '_');
                           return name + "_" + std::to_string(instance.param.group);
                         });

TEST(Quantize, WhatSixteenBitsCannotHoldIsRefused) {
  const auto quantize = [](FormatId id, float value) {
    Room room({id}, 1, 1);
    return QuantizeRows({&value, 1, 1, 1}, 0, room.matrix).has_value();
  };
  EXPECT_TRUE(quantize(FormatId::kF16, 65519.0F));
  EXPECT_FALSE(quantize(FormatId::kF16, 65520.0F));
  EXPECT_FALSE(quantize(FormatId::kF16, -1e9F));
  EXPECT_TRUE(quantize(FormatId::kBf16, 3.389e38F));
  EXPECT_FALSE(quantize(FormatId::kBf16, std::numeric_limits<float>::max()));
  EXPECT_TRUE(quantize(FormatId::kInt8Row, std::numeric_limits<float>::max()));
}

}  // namespace
}  // namespace coli
