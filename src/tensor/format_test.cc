#include "tensor/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tensor/quantize.h"
#include "tensor/tensor_view.h"
#include "tensor/testing/geometries.h"

namespace coli {
namespace {

constexpr uint64_t kColumns[] = {1,  2,  7,   15,  16,  17,  31,  33,  63,
                                 64, 65, 100, 255, 256, 257, 511, 576, 1000};

// A matrix of one row.
struct EncodedRow {
  std::vector<std::byte> codes;
  std::vector<std::byte> scale_bytes;
  std::vector<float> scales;
};

EncodedRow Encode(Format format, const std::vector<float>& values) {
  const auto cols = static_cast<uint32_t>(values.size());
  EncodedRow row;
  row.codes.resize(*CodeBytes(format, 1, cols), std::byte{0xff});
  row.scale_bytes.resize(*ScaleBytes(format, 1, cols), std::byte{0xff});
  EXPECT_TRUE(QuantizeRows({values.data(), 1, cols, cols}, 0,
                           {row.codes.data(), row.scale_bytes.data(), 1, cols, format}));
  for (uint64_t i = 0; i < RowScales(format, cols); ++i) {
    row.scales.push_back(Scale(format, row.scale_bytes.data(), i));
  }
  return row;
}

std::vector<float> Decode(Format format, const std::vector<std::byte>& codes,
                          const std::vector<std::byte>& scales, uint64_t cols) {
  std::vector<float> values(cols);
  DecodeRow({codes.data(), scales.data(), 1, static_cast<uint32_t>(cols), format}, 0,
            values.data());
  return values;
}

std::vector<float> Decode(Format format, const EncodedRow& row, uint64_t cols) {
  return Decode(format, row.codes, row.scale_bytes, cols);
}

std::vector<std::byte> BytesOf(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
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
  const std::vector<std::string> names = {"f32",      "bf16",         "f16",           "int8-row",
                                          "int4-row", "int4-grouped", "fp8-e4m3-b128", "int2-row",
                                          "int3-g64", "mxfp4"};

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
  EXPECT_EQ(CodeBytes({FormatId::kFp8E4m3B128}, 576, 6144), 576u * 6144);
  EXPECT_EQ(ScaleBytes({FormatId::kFp8E4m3B128}, 576, 6144), 5u * 48 * 4);
  EXPECT_EQ(ScaleBytes({FormatId::kFp8E4m3B128}, 128, 129), 8u);
  EXPECT_EQ(ScaleBytes({FormatId::kFp8E4m3B128}, 129, 1), 8u);
  EXPECT_EQ(CodeBytes({FormatId::kInt2Row}, 3, 5), 6u);
  EXPECT_EQ(ScaleBytes({FormatId::kInt2Row}, 3, 5), 12u);
  EXPECT_EQ(CodeBytes({FormatId::kInt3G64}, 3, 65), 3u * 2 * 24);
  EXPECT_EQ(ScaleBytes({FormatId::kInt3G64}, 3, 65), 3u * 2 * 4);
  EXPECT_EQ(CodeBytes({FormatId::kMxfp4}, 3, 65), 3u * 33);
  EXPECT_EQ(ScaleBytes({FormatId::kMxfp4}, 3, 65), 3u * 3);
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

TEST(Format, KnownInt2Bytes) {
  const std::vector<float> values = {3, -3, 1.5F, -1.5F, 1.6F, -1.6F};  // scale 3; halves go to 0

  const EncodedRow row = Encode({FormatId::kInt2Row}, values);

  EXPECT_EQ(row.scales, std::vector<float>{3});
  EXPECT_EQ(Bytes(row.codes), (std::vector<int>{0b10'10'01'11, 0b01'11}));
  EXPECT_EQ(Decode({FormatId::kInt2Row}, {std::byte{0b11'10'01'00}}, BytesOf({0.5F}), 4),
            (std::vector<float>{-1, -0.5F, 0, 0.5F}));
}

TEST(Format, KnownInt3Bytes) {
  std::vector<float> values(66, 0.0F);
  values[0] = 3;      // scale 1; stored 7
  values[1] = -3;     // 1
  values[13] = 1.5F;  // between 1 and 2: stored 6
  values[65] = -6;    // scale 2; stored 1

  const EncodedRow row = Encode({FormatId::kInt3G64}, values);

  std::vector<int> expected(48, 0);
  expected[0] = 0b01'11;
  expected[3] = 0b10'00;
  std::fill_n(expected.begin() + 16, 8, 0xff);
  expected[16] = 0xfd;
  expected[24] = 0b01'00;
  std::fill_n(expected.begin() + 40, 8, 0xff);
  expected[40] = 0xfd;
  EXPECT_EQ(row.scales, (std::vector<float>{1, 2}));
  EXPECT_EQ(Bytes(row.codes), expected);
}

// The codes 0..7 in all eight places of a byte of high bits.
TEST(Format, EveryInt3CodeDecodes) {
  std::vector<std::byte> codes(24);
  for (size_t c = 0; c < 64; ++c) {
    const size_t stored = (c + c / 8) % 8;
    codes[c / 4] |= static_cast<std::byte>((stored & 3U) << (2 * (c % 4)));
    codes[16 + c / 8] |= static_cast<std::byte>((stored >> 2) << (c % 8));
  }

  const std::vector<float> values = Decode({FormatId::kInt3G64}, codes, BytesOf({0.5F}), 64);

  for (size_t c = 0; c < 64; ++c) {
    const size_t stored = (c + c / 8) % 8;
    EXPECT_EQ(values[c], 0.5F * (static_cast<float>(stored) - 4)) << c;
  }
}

TEST(Format, KnownMxfp4Bytes) {
  const std::vector<float> values = {6, -0.25F, 0.75F, 2.5F, 3.5F, -5, 7.9F};  // scale 1

  const EncodedRow row = Encode({FormatId::kMxfp4}, values);

  EXPECT_EQ(row.scale_bytes, std::vector<std::byte>{std::byte{127}});
  EXPECT_EQ(row.scales, std::vector<float>{0.5F});
  EXPECT_EQ(Bytes(row.codes), (std::vector<int>{0x07, 0x42, 0xe6, 0x07}));
}

TEST(Format, EveryMxfp4CodeAndScaleDecodes) {
  const std::vector<float> values = {0,     0.5F,  1,  1.5F,  2,  3,  4,  6,
                                     -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  std::vector<std::byte> codes;
  for (int code = 0; code < 16; code += 2) {
    codes.push_back(static_cast<std::byte>(code | (code + 1) << 4));
  }

  for (int e = 0; e < 256; ++e) {
    const std::vector<float> decoded =
        Decode({FormatId::kMxfp4}, codes, {static_cast<std::byte>(e)}, 16);
    for (size_t c = 0; c < values.size(); ++c) {
      if (e == 255) {
        EXPECT_TRUE(std::isnan(decoded[c]));
      } else {
        EXPECT_EQ(decoded[c], std::ldexp(values[c], e - 127)) << e << " " << c;
      }
    }
  }
}

TEST(Format, KnownFp8Bytes) {
  std::vector<float> values(130, 0.0F);
  values[0] = 448;  // scale 1
  values[1] = -17;  // between 16 and 18: the even code
  values[2] = 19;   // between 18 and 20
  values[3] = 0x1p-9F;
  values[4] = -0x1p-10F;  // between 0 and the smallest: the even code, which is -0
  values[129] = -896;     // scale 2

  const EncodedRow row = Encode({FormatId::kFp8E4m3B128}, values);

  EXPECT_EQ(row.scales, (std::vector<float>{1, 2}));
  EXPECT_EQ(Bytes({row.codes.begin(), row.codes.begin() + 6}),
            (std::vector<int>{0x7e, 0xd8, 0x5a, 0x01, 0x80, 0x00}));
  EXPECT_EQ(Bytes({row.codes.end() - 2, row.codes.end()}), (std::vector<int>{0x00, 0xfe}));
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
  const std::vector<std::byte> half = BytesOf({0.5F});

  EXPECT_EQ(Decode({FormatId::kInt4Row}, {std::byte{0xf0}}, half, 2),
            (std::vector<float>{-4, 3.5F}));
  EXPECT_EQ(Decode({FormatId::kInt8Row}, {std::byte{0x80}, std::byte{0x7f}}, half, 2),
            (std::vector<float>{-64, 63.5F}));
}

// The scale of column `c`.
float ScaleOf(Format format, const EncodedRow& row, uint64_t c) {
  return row.scales[ScaleColumns(format) == 0 ? 0 : c / ScaleColumns(format)];
}

// The distance of neighbouring numbers of the format at `value`, or more.
float Step(Format format, const EncodedRow& row, uint64_t c, float value) {
  switch (format.id) {
    case FormatId::kF32:
    case FormatId::kBf16:
    case FormatId::kF16:
      return std::fabs(value) * 0x1p-7F;
    case FormatId::kFp8E4m3B128:
      return std::max(std::fabs(value) * 0x1p-3F, 0x1p-9F * ScaleOf(format, row, c));
    case FormatId::kMxfp4:  // scales are of halves
      return std::max(std::fabs(value) / 2, ScaleOf(format, row, c));
    case FormatId::kInt8Row:
    case FormatId::kInt4Row:
    case FormatId::kInt4Grouped:
    case FormatId::kInt2Row:
    case FormatId::kInt3G64:
      break;
  }
  return ScaleOf(format, row, c);
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
        ASSERT_LE(std::fabs(values[c] - decoded[c]), 0.50001F * Step(format, row, c, values[c]))
            << c;
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
      ASSERT_EQ(decoded[c], static_cast<float>(codes[c]) * ScaleOf(format, row, c))
          << info.name << " " << c;
    }
  }
}

TEST(WeightView, RowsPointIntoTheSameMatrix) {
  std::vector<std::byte> codes(4 * 33);
  std::vector<std::byte> scales(4 * 5 * sizeof(float));
  const WeightView matrix{codes.data(), scales.data(), 4, 65, {FormatId::kInt4Grouped, 16}};

  const WeightView rows = matrix.Rows(1, 2);

  EXPECT_EQ(rows.codes, codes.data() + 33);
  EXPECT_EQ(rows.scales, scales.data() + 5 * sizeof(float));
  EXPECT_EQ(rows.rows, 2u);
  EXPECT_EQ(rows.cols, 65u);
}

// Rows cut out of a matrix keep the scale blocks that they had in it, wherever the cuts fall.
TEST(WeightView, RowsOfBlocksKeepTheirScales) {
  const Format format{FormatId::kFp8E4m3B128};
  const std::vector<std::byte> codes(400 * 130, std::byte{0x38});  // 1
  const std::vector<std::byte> scales = BytesOf({1, 2, 3, 4, 5, 6, 7, 8});
  const WeightView matrix{codes.data(), scales.data(), 400, 130, format};

  const WeightView part = matrix.Rows(100, 250).Rows(20, 200);  // rows 120 .. 319

  EXPECT_EQ(part.codes, codes.data() + 120 * 130);
  for (const auto& [row, block] : {std::pair{0U, 0U}, {7U, 0U}, {8U, 1U}, {135U, 1U}, {136U, 2U}}) {
    std::vector<float> values(130);
    DecodeRow(part, row, values.data());
    EXPECT_EQ(values[127], static_cast<float>(2 * block + 1)) << row;
    EXPECT_EQ(values[128], static_cast<float>(2 * block + 2)) << row;
  }
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
