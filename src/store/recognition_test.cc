#include "store/recognition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coli {
namespace {

using ::testing::HasSubstr;

QuantizedBytes BytesIn(Format format, uint64_t rows, uint64_t cols) {
  return {rows, cols, *CodeBytes(format, rows, cols), *ScaleBytes(format, rows, cols)};
}

void ExpectFormat(const QuantizedBytes& bytes, Format expected,
                  std::optional<std::string_view> stamp = {}) {
  const auto format = RecognizeFormat(bytes, stamp);
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ(*format, expected) << Info(*format).name << " " << format->group;
}

void ExpectError(const QuantizedBytes& bytes, ErrorCode code, const std::string& text,
                 std::optional<std::string_view> stamp = {}) {
  const auto format = RecognizeFormat(bytes, stamp);
  ASSERT_FALSE(format) << Info(*format).name;
  EXPECT_EQ(format.error().code, code);
  EXPECT_THAT(format.error().message, HasSubstr(text));
}

TEST(Recognition, EveryFormatIsRecognisedByItsBytes) {
  for (const auto& [rows, cols] : {std::pair{6144U, 2048U}, {3U, 300U}, {1U, 257U}, {5U, 700U}}) {
    ExpectFormat(BytesIn({FormatId::kInt8Row}, rows, cols), {FormatId::kInt8Row});
    ExpectFormat(BytesIn({FormatId::kInt4Row}, rows, cols), {FormatId::kInt4Row});
    ExpectFormat(BytesIn({FormatId::kInt2Row}, rows, cols), {FormatId::kInt2Row});
    ExpectFormat(BytesIn({FormatId::kInt3G64}, rows, cols), {FormatId::kInt3G64});
  }
  for (const auto& [rows, cols] : {std::pair{576U, 6144U}, {130U, 300U}, {3U, 500U}}) {
    ExpectFormat(BytesIn({FormatId::kFp8E4m3B128}, rows, cols), {FormatId::kFp8E4m3B128});
  }
  for (const uint32_t group : kGroupSizes) {
    ExpectFormat(BytesIn({FormatId::kInt4Grouped, group}, 6144, 2304),
                 {FormatId::kInt4Grouped, group});
  }
}

TEST(Recognition, TheFinestGroupThatFitsWins) {
  // ceil(100 / 64) == ceil(100 / 96) == 2.
  ExpectFormat(BytesIn({FormatId::kInt4Grouped, 96}, 8, 100), {FormatId::kInt4Grouped, 64});
}

TEST(Recognition, OneGroupPerRowMeansTheSameAsOneScalePerRow) {
  ExpectFormat(BytesIn({FormatId::kInt4Row}, 8, 64), {FormatId::kInt4Grouped, 64});
  ExpectFormat(BytesIn({FormatId::kInt4Row}, 8, 64), {FormatId::kInt4Row}, "int4-row");
  ExpectFormat(BytesIn({FormatId::kInt4Row}, 8, 65), {FormatId::kInt4Row});
  ExpectFormat(BytesIn({FormatId::kInt4Row}, 8, 65), {FormatId::kInt4Grouped, 96}, "int4-grouped");
}

// 24 bytes and one scale per row.
TEST(Recognition, WhereInt3HasTheBytesOfAnotherFormatTheOtherWins) {
  ExpectFormat(BytesIn({FormatId::kInt3G64}, 8, 24), {FormatId::kInt8Row});
  ExpectFormat(BytesIn({FormatId::kInt3G64}, 8, 48), {FormatId::kInt4Grouped, 48});
  ExpectFormat(BytesIn({FormatId::kInt3G64}, 8, 24), {FormatId::kInt3G64}, "int3-g64");
}

TEST(Recognition, WhereInt8AndFp8HaveTheSameBytesInt8WinsUnlessStamped) {
  // o_proj of GLM-5.2: 48 x 128 blocks are as many as rows.
  const QuantizedBytes o_proj{6144, 16384, 6144ULL * 16384, 6144 * 4};
  ExpectFormat(o_proj, {FormatId::kInt8Row});
  ExpectFormat(o_proj, {FormatId::kFp8E4m3B128}, "fp8-e4m3-b128");
}

TEST(Recognition, FormatsThatAreNotImplementedAreNamed) {
  ExpectError({8, 512, 8 * 2 * 98, 4}, ErrorCode::kUnsupported, "e8-iq3-lattice");
  ExpectError({8, 512, 8 * 256, 8 * 16}, ErrorCode::kUnsupported, "mxfp4", "mxfp4");
  ExpectError({256, 512, 256 * 512, 8}, ErrorCode::kUnsupported, "fp8-e4m3-b128 with UE8M0 scales");
}

TEST(Recognition, StampsAgreeOrAreRefused) {
  const QuantizedBytes int4 = BytesIn({FormatId::kInt4Grouped, 64}, 8, 512);
  ExpectFormat(int4, {FormatId::kInt4Grouped, 64}, "int4-grouped");
  ExpectError(int4, ErrorCode::kCorrupt, "expected int8-row as its stamp says", "int8-row");
  ExpectError(int4, ErrorCode::kCorrupt, "expected int4-row as its stamp says", "int4-row");
  ExpectError(int4, ErrorCode::kCorrupt, "expected f32 as its stamp says", "f32");
  ExpectError(int4, ErrorCode::kCorrupt, "expected int3-g64 as its stamp says", "int3-g64");
}

TEST(Recognition, OtherByteCountsAreRefusedWithBothCounts) {
  const QuantizedBytes right = BytesIn({FormatId::kInt4Grouped, 64}, 64, 500);
  for (const QuantizedBytes& wrong :
       {QuantizedBytes{64, 500, right.code_bytes + 1, right.scale_bytes},
        {64, 500, right.code_bytes - 1, right.scale_bytes},
        {64, 500, right.code_bytes * 3, right.scale_bytes},
        {64, 500, 0, right.scale_bytes},
        {64, 500, right.code_bytes, right.scale_bytes + 1},
        {64, 500, right.code_bytes, right.scale_bytes - 4},
        {64, 500, right.code_bytes, 0},
        {64, 500, 0, 0},
        {0, 500, right.code_bytes, right.scale_bytes},
        {~0ULL, 500, right.code_bytes, right.scale_bytes},
        {64, (1ULL << 31) - 1, right.code_bytes, right.scale_bytes}}) {
    ExpectError(wrong, ErrorCode::kCorrupt,
                fmt::format("found {} + {} bytes", wrong.code_bytes, wrong.scale_bytes));
  }
}

TEST(Recognition, KnownNames) {
  for (const char* name : {"int8-row", "int4-row", "int2-row", "int4-grouped", "int3-g64",
                           "e8-iq3-lattice", "fp8-e4m3-b128"}) {
    EXPECT_TRUE(IsKnownFormatName(name)) << name;
  }
  EXPECT_FALSE(IsKnownFormatName("int5"));
  EXPECT_FALSE(IsKnownFormatName(""));
}

}  // namespace
}  // namespace coli
