#include "store/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "store/testing/write_safetensors.h"
#include "tensor/format.h"
#include "tensor/format_name.h"
#include "tensor/quantize.h"
#include "tensor/testing/geometries.h"

namespace coli {
namespace {

using coli::testing::AllGeometries;
using coli::testing::FloatTensor;
using coli::testing::PatternFloats;
using coli::testing::TempDirectory;
using coli::testing::TensorToWrite;
using coli::testing::WriteSafetensors;
using ::testing::HasSubstr;

// A matrix [rows, cols] of these values in `format`, by the quantiser alone.
struct Quantized {
  Quantized(const std::vector<float>& values, uint32_t rows, uint32_t cols, Format format)
      : codes(*CodeBytes(format, rows, cols)), scales(*ScaleBytes(format, rows, cols)) {
    const QuantizedMatrix out{codes.data(), scales.empty() ? nullptr : scales.data(), rows, cols,
                              format};
    COLI_CHECK(QuantizeRows({values.data(), rows, cols, cols}, 0, out).has_value());
    view = out.view();
  }
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  WeightView view;
};

std::string DTypeOf(Format format) {
  switch (format.id) {
    case FormatId::kF32:
      return "F32";
    case FormatId::kBf16:
      return "BF16";
    case FormatId::kF16:
      return "F16";
    default:
      return "F8_E4M3";
  }
}

constexpr Format kSources[] = {
    {FormatId::kF32}, {FormatId::kBf16}, {FormatId::kF16}, {FormatId::kFp8E4m3B128}};

class ConversionTest : public ::testing::Test {
 protected:
  // Writes the matrix w and finds it again.
  StoredMatrix Store(const std::vector<float>& values, uint32_t rows, uint32_t cols,
                     Format format) {
    const Quantized stored(values, rows, cols, format);
    std::vector<TensorToWrite> tensors = {{"w", DTypeOf(format), {rows, cols}, stored.codes}};
    if (!stored.scales.empty()) {
      tensors.push_back(
          {"w_scale_inv", "F32", {(rows + 127) / 128, (cols + 127) / 128}, stored.scales});
    }
    WriteSafetensors(directory_ / "a.safetensors", tensors);
    container_.emplace(Container::Open(directory_.path()).value());
    return container_->FindMatrix("w", rows, cols).value();
  }

  // Converts with `threads` threads.
  void ExpectConverted(const StoredMatrix& matrix, size_t threads, const Quantized& expected) {
    ThreadPool pool(threads);
    const AlignedBuffer buffer = AlignedBuffer::Allocate(HeldBytes(matrix)).value();
    const auto view = ReadConverted(matrix, buffer.bytes(), pool, [](uint64_t) {});
    ASSERT_TRUE(view) << view.error().message;
    ExpectSame(*view, expected);
  }

  static void ExpectSame(const WeightView& view, const Quantized& expected) {
    EXPECT_EQ(view.format, expected.view.format);
    EXPECT_TRUE(std::ranges::equal(std::span(view.codes, expected.codes.size()), expected.codes));
    EXPECT_EQ(view.scales == nullptr, expected.scales.empty());
    EXPECT_TRUE(
        std::ranges::equal(std::span(view.scales, expected.scales.size()), expected.scales));
  }

  void ExpectError(const StoredMatrix& matrix, const std::string& text) {
    ThreadPool pool(3);
    const AlignedBuffer buffer = AlignedBuffer::Allocate(HeldBytes(matrix)).value();
    const auto view = ReadConverted(matrix, buffer.bytes(), pool, [](uint64_t) {});
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code, ErrorCode::kNumeric);
    EXPECT_THAT(view.error().message, HasSubstr("a.safetensors: tensor w"));
    EXPECT_THAT(view.error().message, HasSubstr(text));
  }

  TempDirectory directory_;
  std::optional<Container> container_;
};

TEST_F(ConversionTest, EveryFormatFromEverySourceIsWhatTheQuantiserMakes) {
  constexpr uint32_t kRows = 150;  // not a multiple of what threads take at once
  constexpr uint32_t kCols = 133;
  const std::vector<float> values = PatternFloats(size_t{kRows} * kCols, 1);
  for (const Format source : kSources) {
    const StoredMatrix stored = Store(values, kRows, kCols, source);
    const Quantized original(values, kRows, kCols, source);
    std::vector<float> decoded(values.size());
    for (uint32_t r = 0; r < kRows; ++r) {
      DecodeRow(original.view, r, decoded.data() + size_t{r} * kCols);
    }
    for (const Format target : AllGeometries()) {
      SCOPED_TRACE(FormatName(source) + " to " + FormatName(target));
      StoredMatrix matrix = stored;
      ASSERT_TRUE(ConvertTo(target, matrix));
      EXPECT_EQ(matrix.converts(), source != target);
      if (!matrix.converts()) {
        continue;
      }

      const Quantized expected(decoded, kRows, kCols, target);
      ExpectConverted(matrix, 1, expected);
      ExpectConverted(matrix, 3, expected);
    }
  }
}

TEST_F(ConversionTest, PartsOfALargeMatrixFitTogether) {
  constexpr uint32_t kRows = 130;
  constexpr uint32_t kCols = 1 << 15;  // 128 rows of f32 are read at once
  const std::vector<float> values = PatternFloats(size_t{kRows} * kCols, 2);
  StoredMatrix matrix = Store(values, kRows, kCols, {FormatId::kF32});
  ASSERT_TRUE(ConvertTo({FormatId::kInt4Row}, matrix));
  ThreadPool pool(2);
  const AlignedBuffer buffer = AlignedBuffer::Allocate(HeldBytes(matrix)).value();
  std::vector<uint64_t> done;

  const auto view =
      ReadConverted(matrix, buffer.bytes(), pool, [&](uint64_t bytes) { done.push_back(bytes); });

  ASSERT_TRUE(view) << view.error().message;
  ExpectSame(*view, {values, kRows, kCols, {FormatId::kInt4Row}});
  constexpr uint64_t kRowBytes = kCols / 2;
  EXPECT_THAT(done, ::testing::ElementsAre(128 * kRowBytes, 130 * kRowBytes));
}

TEST_F(ConversionTest, WhatIsQuantisedIsRefused) {
  const auto w = coli::testing::QuantizedMatrix("w", {FormatId::kInt8Row}, 4, 64, 1);
  WriteSafetensors(directory_ / "a.safetensors", {w.scales, w.codes});
  container_.emplace(Container::Open(directory_.path()).value());
  StoredMatrix matrix = container_->FindMatrix("w", 4, 64).value();

  const Status other = ConvertTo({FormatId::kInt4Grouped, 64}, matrix);
  const Status same = ConvertTo({FormatId::kInt8Row}, matrix);

  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(other.error().message, HasSubstr("tensor w"));
  EXPECT_THAT(other.error().message, HasSubstr("to convert to int4-g64, found int8-row"));
  EXPECT_TRUE(same);
  EXPECT_FALSE(matrix.converts());
}

TEST_F(ConversionTest, TheFirstNumberThatCannotBeHeldIsNamed) {
  std::vector<float> values = PatternFloats(size_t{40} * 8, 3);
  values[33 * 8 + 5] = std::numeric_limits<float>::quiet_NaN();
  values[37 * 8 + 1] = std::numeric_limits<float>::infinity();
  WriteSafetensors(directory_ / "a.safetensors", {FloatTensor("w", {40, 8}, values)});
  container_.emplace(Container::Open(directory_.path()).value());
  StoredMatrix matrix = container_->FindMatrix("w", 40, 8).value();
  ASSERT_TRUE(ConvertTo({FormatId::kInt8Row}, matrix));

  ExpectError(matrix, "row 33, column 5");
}

TEST_F(ConversionTest, NumbersBeyondF16AreRefused) {
  std::vector<float> values(32, 1.0F);
  values[20] = 1e6F;
  StoredMatrix matrix = Store(values, 4, 8, {FormatId::kF32});
  ASSERT_TRUE(ConvertTo({FormatId::kF16}, matrix));

  ExpectError(matrix, "row 2, column 4");
}

}  // namespace
}  // namespace coli
