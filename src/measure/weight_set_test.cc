#include "measure/weight_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace coli {
namespace {

TEST(MeasuredFormats, AreAllThereAre) {
  for (const FormatInfo& info : AllFormats()) {
    EXPECT_TRUE(std::ranges::any_of(kMeasuredFormats, [&](const NamedFormat& measured) {
      return measured.format.id == info.id;
    })) << info.name;
  }
}

TEST(FillWithCodes, FloatsAreOfModerateSize) {
  constexpr uint32_t kCols = 1 << 16;
  const AlignedBuffer memory = AlignedBuffer::Allocate(size_t{1} << 20).value();
  FillWithCodes(memory.bytes());
  for (const Format format : {Format{FormatId::kF32}, Format{FormatId::kBf16},
                              Format{FormatId::kF16}, Format{FormatId::kFp8E4m3B128}}) {
    const WeightSet weights(memory.bytes(), format, {1, kCols}, 1);
    std::vector<float> row(kCols);

    DecodeRow(weights.view(0), 0, row.data());

    for (const float value : row) {
      ASSERT_GT(std::fabs(value), 0x1p-70F) << Info(format).name;
      ASSERT_LT(std::fabs(value), 0x1p4F) << Info(format).name;
    }
  }
}

// Also where the matrices of other formats have left their scales.
TEST(WeightSet, ItsMatricesFillTheMemoryAndAreOfModerateSize) {
  constexpr MatrixShape kShape{256, 256};
  const AlignedBuffer memory = AlignedBuffer::Allocate(size_t{3} << 20).value();
  FillWithCodes(memory.bytes());
  for (const NamedFormat& format : kMeasuredFormats) {
    const WeightSet weights(memory.bytes(), format.format, kShape, memory.size());

    EXPECT_EQ(weights.count(), memory.size() / WeightSet::Stride(format.format, kShape));
    std::set<const std::byte*> places;
    std::vector<float> row(kShape.cols);
    for (size_t i = 0; i < weights.count(); ++i) {
      places.insert(weights.bytes(i));
      DecodeRow(weights.view(i), kShape.rows - 1, row.data());
      for (const float value : row) {
        ASSERT_LT(std::fabs(value), 0x1p4F) << format.name;
      }
    }
    EXPECT_EQ(places.size(), weights.count()) << format.name;
    EXPECT_GE(*places.begin(), memory.data());
    EXPECT_LE(*places.rbegin() + weights.matrix_bytes(), memory.data() + memory.size());
    EXPECT_EQ(weights.bytes(weights.count()), weights.bytes(0));
  }
}

TEST(WeightSet, HasOneMatrixHoweverFewBytesAreAllowed) {
  constexpr MatrixShape kShape{64, 64};
  const AlignedBuffer memory = AlignedBuffer::Allocate(size_t{1} << 20).value();

  EXPECT_EQ(WeightSet(memory.bytes(), {FormatId::kInt8Row}, kShape, 1).count(), 1u);
}

}  // namespace
}  // namespace coli
