#include "store/expert_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "store/testing/write_safetensors.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;

constexpr size_t kExtents = 6;

// Two files with known bytes, and an expert whose six extents the test places in them.
class ExpertLayoutTest : public ::testing::Test {
 protected:
  ExpertLayoutTest() {
    for (size_t i = 0; i < 2; ++i) {
      content_[i] = PatternBytes(100'000, i);
      WriteFile(directory_ / std::to_string(i), content_[i]);
      files_.push_back(File::OpenRead(directory_ / std::to_string(i)).value());
    }
  }

  Extent In(size_t file, uint64_t offset, uint64_t bytes) const {
    return {&files_[file], offset, bytes};
  }

  static ExpertRecord Record(const std::array<Extent, kExtents>& e) {
    const auto matrix = [&](size_t i) {
      return StoredMatrix{"w", {FormatId::kInt8Row}, 4, 4, e[i], e[i + 1]};
    };
    return {matrix(0), matrix(2), matrix(4)};
  }

  // Performs the reads as a drive without a page cache would and compares what the views point to
  // with the file's bytes.
  void ExpectRightBytes(const ExpertRecord& record) {
    const ExpertLayout layout(record);
    const AlignedBuffer buffer = AlignedBuffer::Allocate(ExpertLayout::BufferBytes(record)).value();
    std::vector<int> written(buffer.size(), 0);
    uint64_t needed = 0;
    for (const ExpertLayout::Piece& piece : layout.pieces()) {
      ASSERT_LE(piece.position + piece.bytes, buffer.size());
      ASSERT_LE(piece.needed, piece.bytes);
      ASSERT_GT(piece.needed, 0U);
      if (piece.offset % alignof(float) == 0) {
        ASSERT_EQ(piece.position % kDirectAlignment, 0U);
        ASSERT_EQ(piece.offset % kDirectAlignment, 0U);
        ASSERT_EQ(piece.bytes % kDirectAlignment, 0U);
      }
      const auto& content = ContentOf(*piece.file);
      ASSERT_LE(piece.offset + piece.needed, content.size());
      const uint64_t bytes = std::min<uint64_t>(piece.bytes, content.size() - piece.offset);
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(piece.offset), bytes,
                  buffer.data() + piece.position);
      for (uint64_t i = 0; i < piece.bytes; ++i) {
        ++written[piece.position + i];
      }
      needed += piece.needed;
    }
    ASSERT_EQ(needed, layout.bytes());
    ASSERT_EQ(std::count_if(written.begin(), written.end(), [](int n) { return n > 1; }), 0);
    const FfnView view = layout.View(buffer.data(), record);
    ExpectMatrix(view.gate, record.gate);
    ExpectMatrix(view.up, record.up);
    ExpectMatrix(view.down, record.down);
  }

  void ExpectMatrix(const WeightView& view, const StoredMatrix& matrix) {
    ExpectBytes(view.codes, matrix.codes);
    if (matrix.scales.bytes == 0) {
      EXPECT_EQ(view.scales, nullptr);
    } else {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(view.scales) % alignof(float), 0U);
      ExpectBytes(view.scales, matrix.scales);
    }
  }

  void ExpectBytes(const std::byte* bytes, const Extent& extent) {
    const auto& content = ContentOf(*extent.file);
    EXPECT_EQ(std::memcmp(bytes, content.data() + extent.offset, extent.bytes), 0);
  }

  const std::vector<std::byte>& ContentOf(const File& file) const {
    return content_[&file == &files_[0] ? 0 : 1];
  }

  TempDirectory directory_;
  std::array<std::vector<std::byte>, 2> content_;
  std::vector<File> files_;
};

TEST_F(ExpertLayoutTest, TheContainersOrderTakesTwoReads) {
  // All scales first, then all codes; down, gate, up in each.
  const ExpertRecord record = Record({In(0, 2'000, 500), In(0, 1'016, 16), In(0, 2'500, 500),
                                      In(0, 1'032, 16), In(0, 1'500, 500), In(0, 1'000, 16)});

  EXPECT_EQ(ExpertLayout(record).pieces().size(), 2U);
  ExpectRightBytes(record);
}

TEST_F(ExpertLayoutTest, ExtentsThatDoNotTouchAreReadOneByOne) {
  const ExpertRecord record = Record({In(0, 2'000, 499), In(0, 1'020, 16), In(1, 2'500, 500),
                                      In(1, 1'040, 16), In(0, 1'500, 499), In(0, 1'000, 16)});

  EXPECT_EQ(ExpertLayout(record).pieces().size(), 6U);
  ExpectRightBytes(record);
}

TEST_F(ExpertLayoutTest, ExtentsOfTwoFilesDoNotTouch) {
  const ExpertRecord record = Record({In(0, 0, 100), In(0, 1'000, 16), In(1, 100, 100),
                                      In(1, 1'016, 16), In(0, 200, 100), In(0, 1'032, 16)});

  EXPECT_EQ(ExpertLayout(record).pieces().size(), 6U);
  ExpectRightBytes(record);
}

TEST_F(ExpertLayoutTest, ScalesThatWouldBeMisalignedAreReadApart) {
  // Scales right behind an odd number of codes.
  const ExpertRecord record = Record({In(0, 0, 101), In(0, 101, 16), In(0, 117, 101),
                                      In(0, 218, 16), In(0, 234, 101), In(0, 335, 16)});

  EXPECT_EQ(ExpertLayout(record).pieces().size(), 4U);
  ExpectRightBytes(record);
}

TEST_F(ExpertLayoutTest, PlainFloatsHaveNoScales) {
  const ExpertRecord record =
      Record({In(0, 200, 100), {}, In(0, 300, 100), {}, In(0, 100, 100), {}});

  EXPECT_EQ(ExpertLayout(record).pieces().size(), 1U);
  ExpectRightBytes(record);
}

TEST_F(ExpertLayoutTest, TheSameBytesAreReadOnce) {
  // Gate and up of a fused, transposed tensor share theirs; down's begin in the middle of them.
  const ExpertRecord record =
      Record({In(0, 200, 100), {}, In(0, 200, 100), {}, In(0, 250, 90), {}});

  const ExpertLayout layout(record);
  ASSERT_EQ(layout.pieces().size(), 1U);
  EXPECT_EQ(layout.pieces()[0].needed, 200U + 140U);  // from the beginning of the page
  ExpectRightBytes(record);
}

// Pages of a large expert: pieces that touch, each no longer than it has to be.
TEST(ExpertLayout, ALargeExpertIsReadInPiecesThatCoverItsPages) {
  for (const uint64_t codes : {uint64_t{6} << 20, uint64_t{50} << 20, uint64_t{6'291'457}}) {
    const auto extent = [](uint64_t offset, uint64_t bytes) {
      return Extent{nullptr, offset, bytes};
    };
    const StoredMatrix gate{"w", {FormatId::kInt8Row}, 4, 4, extent(10'000, codes), {}};
    const StoredMatrix up{"w", {FormatId::kInt8Row}, 4, 4, extent(10'000 + codes, codes), {}};
    const StoredMatrix down{"w", {FormatId::kInt8Row}, 4, 4, extent(10'000 + 2 * codes, codes), {}};

    const ExpertLayout layout({gate, up, down});

    uint64_t offset = 8'192;
    for (const ExpertLayout::Piece& piece : layout.pieces()) {
      EXPECT_EQ(piece.offset, offset);
      EXPECT_EQ(piece.position, offset - 8'192);
      offset += piece.bytes;
    }
    EXPECT_EQ(layout.bytes(), 10'000 - 8'192 + 3 * codes);
    EXPECT_GE(offset, 10'000 + 3 * codes);
    EXPECT_LT(offset, 10'000 + 3 * codes + kDirectAlignment);
    EXPECT_GE(layout.pieces().size(), 3 * codes / ExpertLayout::kPieceBytes);
  }
}

// Whatever lies before and behind down's codes, hardly a byte of them is read for gate and up.
TEST(ExpertLayout, GateAndUpOfALargeExpertAreReadWithoutDown) {
  constexpr uint64_t kCodes = (uint64_t{6} << 20) + 1'000;
  constexpr uint64_t kScales = 8'192;
  const auto matrix = [](uint64_t codes, uint64_t scales) {
    return StoredMatrix{"w", {FormatId::kInt8Row},     4,
                        4,   {nullptr, codes, kCodes}, {nullptr, scales, kScales}};
  };
  for (const auto& [gate, up, down] : {std::array<uint64_t, 3>{0, 1, 2}, {1, 2, 0}, {0, 2, 1}}) {
    constexpr uint64_t kBegin = 20'000;
    const uint64_t scales = kBegin + 3 * kCodes;
    const ExpertLayout layout({matrix(kBegin + gate * kCodes, scales + gate * kScales),
                               matrix(kBegin + up * kCodes, scales + up * kScales),
                               matrix(kBegin + down * kCodes, scales + down * kScales)});

    uint64_t only_down = 0;
    for (const ExpertLayout::Piece& piece : layout.pieces()) {
      only_down += piece.only_down ? piece.needed : 0;
    }
    EXPECT_LE(only_down, kCodes + kDirectAlignment) << "what else the last page holds";
    EXPECT_GT(only_down, kCodes - 2 * kDirectAlignment);
  }
}

TEST_F(ExpertLayoutTest, TheBuffersSizeDoesNotDependOnPlaces) {
  const auto touching = Record({In(0, 0, 100), In(0, 100, 16), In(0, 116, 100), In(0, 216, 16),
                                In(0, 232, 99), In(0, 332, 16)});
  const auto scattered = Record({In(1, 500, 100), In(0, 70, 16), In(0, 900, 100), In(1, 8, 16),
                                 In(1, 2'000, 99), In(1, 4, 16)});

  EXPECT_EQ(ExpertLayout::BufferBytes(touching), ExpertLayout::BufferBytes(scattered));
}

// Six extents in random order, files and distances; they may even overlap, as tied weights might.
TEST_F(ExpertLayoutTest, RandomExtentsGiveTheirBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3'000; ++round) {
    std::array<size_t, kExtents> order = {0, 1, 2, 3, 4, 5};
    std::shuffle(order.begin(), order.end(), random);
    std::array<Extent, kExtents> extents;
    uint64_t offset = random() % 1'000;
    for (const size_t i : order) {
      const uint64_t bytes = i % 2 == 1 ? 4 * (random() % 50) : 1 + random() % 1'000;
      if (random() % 8 == 0) {
        offset = random() % 90'000;
      }
      if (random() % 4 == 0) {
        offset += random() % 10;
      }
      extents[i] = bytes == 0 ? Extent{} : In(random() % 8 == 0 ? 1 : 0, offset, bytes);
      offset += bytes;
    }
    ExpectRightBytes(Record(extents));
    if (HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace coli
