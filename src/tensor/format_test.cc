#include "tensor/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/tensor_view.h"
#include "tensor/testing/geometries.h"

namespace coli {
namespace {

constexpr uint64_t kColumns[] = {1,  2,  7,   15,  16,  17,  31,  33,  63,
                                 64, 65, 100, 255, 256, 257, 511, 576, 1000};

struct EncodedRow {
  std::vector<std::byte> codes;
  std::vector<float> scales;
};

EncodedRow Encode(Format format, const std::vector<float>& values) {
  const FormatInfo& info = Info(format);
  EncodedRow row{std::vector<std::byte>(info.row_bytes(values.size()), std::byte{0xff}),
                 std::vector<float>(info.row_scales(values.size(), format.group))};
  info.encode_row(values.data(), values.size(), format.group, row.codes.data(), row.scales.data());
  return row;
}

std::vector<float> Decode(Format format, const EncodedRow& row, uint64_t cols) {
  std::vector<float> values(cols);
  Info(format).decode_row(row.codes.data(), row.scales.data(), cols, format.group, values.data());
  return values;
}

std::vector<float> NormalValues(uint64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

std::vector<int> Bytes(const std::vector<std::byte>& bytes) {
  std::vector<int> out;
  for (const std::byte byte : bytes) {
    out.push_back(std::to_integer<int>(byte));
  }
  return out;
}

TEST(Format, NamesAndIdsAgreeWithTheTable) {
  const std::vector<std::string> names = {"f32",      "bf16",     "f16",
                                          "int8-row", "int4-row", "int4-grouped"};

  ASSERT_EQ(AllFormats().size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(AllFormats()[i].name, names[i]);
    EXPECT_EQ(FindFormat(names[i]), static_cast<FormatId>(i));
    EXPECT_EQ(Info(static_cast<FormatId>(i)).id, static_cast<FormatId>(i));
  }
  EXPECT_EQ(FindFormat("int5"), std::nullopt);
}

TEST(Format, OnlyListedGroupsAreValid) {
  EXPECT_TRUE(IsValid({FormatId::kInt4Grouped, 96}));
  EXPECT_FALSE(IsValid({FormatId::kInt4Grouped, 0}));
  EXPECT_FALSE(IsValid({FormatId::kInt4Grouped, 80}));
  EXPECT_TRUE(IsValid({FormatId::kInt8Row}));
  EXPECT_FALSE(IsValid({FormatId::kInt8Row, 64}));
  EXPECT_FALSE(IsValid({static_cast<FormatId>(200)}));
}

TEST(Format, BytesOfMatrices) {
  EXPECT_EQ(CodeBytes({FormatId::kF32}, 3, 5), 60u);
  EXPECT_EQ(CodeBytes({FormatId::kBf16}, 3, 5), 30u);
  EXPECT_EQ(CodeBytes({FormatId::kF16}, 3, 5), 30u);
  EXPECT_EQ(CodeBytes({FormatId::kInt8Row}, 3, 5), 15u);
  EXPECT_EQ(CodeBytes({FormatId::kInt4Row}, 3, 5), 9u);
  EXPECT_EQ(CodeBytes({FormatId::kInt4Grouped, 16}, 2048, 6144), 6291456u);
  EXPECT_EQ(ScaleBytes({FormatId::kF32}, 3, 5), 0u);
  EXPECT_EQ(ScaleBytes({FormatId::kInt4Row}, 3, 5), 12u);
  EXPECT_EQ(ScaleBytes({FormatId::kInt4Grouped, 64}, 3, 65), 24u);
  EXPECT_EQ(ScaleBytes({FormatId::kInt4Grouped, 64}, 3, 64), 12u);
  EXPECT_EQ(CodeBytes({FormatId::kF32}, uint64_t{1} << 62, 5), std::nullopt);
  EXPECT_EQ(ScaleBytes({FormatId::kInt8Row}, uint64_t{1} << 63, 5), std::nullopt);
}

TEST(Format, KnownInt4Bytes) {
  const std::vector<float> values = {7,     -7,   3.5F, 4.5F,
                                     -0.5F, 1.5F, -2};  // scale 1; halves go to the even code

  const EncodedRow row = Encode({FormatId::kInt4Row}, values);

  EXPECT_EQ(row.scales, std::vector<float>{1});
  EXPECT_EQ(Bytes(row.codes), (std::vector<int>{0x1f, 0xcc, 0xa8, 0x06}));
  EXPECT_EQ(Decode({FormatId::kInt4Row}, row, 7), (std::vector<float>{7, -7, 4, 4, 0, 2, -2}));
}

TEST(Format, KnownInt8Bytes) {
  const std::vector<float> values = {254, -254, 3, -5, 0, 1};  // scale 2

  const EncodedRow row = Encode({FormatId::kInt8Row}, values);

  EXPECT_EQ(row.scales, std::vector<float>{2});
  EXPECT_EQ(Bytes(row.codes), (std::vector<int>{127, 129, 2, 254, 0, 0}));
}

TEST(Format, KnownGroupedScales) {
  std::vector<float> values(19, 0.0F);
  values[3] = 14;
  values[17] = -0.875F;

  const EncodedRow row = Encode({FormatId::kInt4Grouped, 16}, values);

  EXPECT_EQ(row.scales, (std::vector<float>{2, 0.125F}));
  EXPECT_EQ(Bytes(row.codes),
            (std::vector<int>{0x88, 0xf8, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x18, 0x08}));
}

TEST(Format, ZeroRowsGetTheSmallestScale) {
  const EncodedRow row = Encode({FormatId::kInt4Row}, {0, -0.0F, 0});

  EXPECT_EQ(row.scales, std::vector<float>{1e-8F});
  EXPECT_EQ(Decode({FormatId::kInt4Row}, row, 3), (std::vector<float>{0, 0, 0}));
}

TEST(Format, LowestCodesDecode) {
  const EncodedRow int4{{std::byte{0xf0}}, {0.5F}};
  const EncodedRow int8{{std::byte{0x80}, std::byte{0x7f}}, {0.5F}};

  EXPECT_EQ(Decode({FormatId::kInt4Row}, int4, 2), (std::vector<float>{-4, 3.5F}));
  EXPECT_EQ(Decode({FormatId::kInt8Row}, int8, 2), (std::vector<float>{-64, 63.5F}));
}

TEST(Format, RoundTripStaysWithinHalfAStep) {
  for (const Format format : testing::AllGeometries()) {
    for (const uint64_t cols : kColumns) {
      SCOPED_TRACE(std::string(Info(format).name) + "/" + std::to_string(format.group) + " cols " +
                   std::to_string(cols));
      const std::vector<float> values = NormalValues(cols, static_cast<uint32_t>(cols));

      const EncodedRow row = Encode(format, values);
      const std::vector<float> decoded = Decode(format, row, cols);

      for (uint64_t c = 0; c < cols; ++c) {
        const float step = row.scales.empty()
                               ? std::fabs(values[c]) * 0x1p-7F
                               : row.scales[format.group == 0 ? 0 : c / format.group];
        ASSERT_LE(std::fabs(values[c] - decoded[c]), 0.50001F * step) << c;
      }
    }
  }
}

TEST(Format, EncodingDecodedValuesGivesTheSameCodes) {
  for (const Format format : testing::AllGeometries()) {
    for (const uint64_t cols : kColumns) {
      const EncodedRow first = Encode(format, NormalValues(cols, 7));
      const EncodedRow second = Encode(format, Decode(format, first, cols));

      ASSERT_EQ(first.codes, second.codes)
          << Info(format).name << " group " << format.group << " cols " << cols;
      for (size_t g = 0; g < first.scales.size(); ++g) {
        ASSERT_NEAR(first.scales[g], second.scales[g], first.scales[g] * 0x1p-22F);
      }
    }
  }
}

TEST(Format, DecodedValuesAreCodesTimesScales) {
  for (const Format format : testing::AllGeometries()) {
    const FormatInfo& info = Info(format);
    if (info.arithmetic != Arithmetic::kInteger) {
      continue;
    }
    const uint64_t cols = 301;
    const EncodedRow row = Encode(format, NormalValues(cols, 3));
    std::vector<int16_t> codes(cols);

    info.unpack_row(row.codes.data(), cols, codes.data());
    const std::vector<float> decoded = Decode(format, row, cols);

    for (uint64_t c = 0; c < cols; ++c) {
      const float scale = row.scales[format.group == 0 ? 0 : c / format.group];
      ASSERT_EQ(decoded[c], static_cast<float>(codes[c]) * scale) << info.name << " " << c;
    }
  }
}

TEST(WeightView, RowsPointIntoTheSameMatrix) {
  std::vector<std::byte> codes(4 * 33);
  std::vector<float> scales(4 * 5);
  const WeightView matrix{codes.data(), scales.data(), 4, 65, {FormatId::kInt4Grouped, 16}};

  const WeightView rows = matrix.Rows(1, 2);

  EXPECT_EQ(rows.codes, codes.data() + 33);
  EXPECT_EQ(rows.scales, scales.data() + 5);
  EXPECT_EQ(rows.rows, 2u);
  EXPECT_EQ(rows.cols, 65u);
}

TEST(MatrixView, RowsAndColsKeepTheStride) {
  std::vector<float> data(24);
  const MatrixView matrix{data.data(), 4, 6, 6};

  const ConstMatrixView part = matrix.Rows(1, 2).Cols(2, 3);

  EXPECT_EQ(part.row(1), data.data() + 2 * 6 + 2);
  EXPECT_EQ(part.rows, 2u);
  EXPECT_EQ(part.cols, 3u);
}

}  // namespace
}  // namespace coli
