// Experts that are held in another format, or another order of elements, than the file has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "store/conversion.h"
#include "store/expert_store.h"
#include "store/testing/write_safetensors.h"
#include "sys/io_threads.h"
#include "tensor/quantize.h"

namespace coli {
namespace {

using coli::testing::FloatTensor;
using coli::testing::PatternFloats;
using coli::testing::TempDirectory;
using coli::testing::TensorToWrite;
using coli::testing::WriteSafetensors;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kHidden = 64;
constexpr uint32_t kInner = 40;
constexpr uint32_t kExperts = 6;
constexpr Format kInt4{FormatId::kInt4Grouped, 32};
constexpr LayerId kLayer{0};

// Experts as F32 stacks of gate and up, [2I, H], and of down, transposed: [I, H].
class ExpertConversionTest : public ::testing::Test {
 protected:
  ExpertConversionTest() { Write({}); }

  // `bad` overwrites number `bad->first` of all gate_up values.
  void Write(std::optional<std::pair<size_t, float>> bad) {
    std::vector<float> gate_up = PatternFloats(size_t{kExperts} * 2 * kInner * kHidden, 1);
    down_ = PatternFloats(size_t{kExperts} * kInner * kHidden, 2);
    if (bad) {
      gate_up[bad->first] = bad->second;
    }
    gate_up_ = gate_up;
    WriteSafetensors(directory_ / "a.safetensors",
                     {FloatTensor("gate_up", {kExperts, 2 * kInner, kHidden}, gate_up),
                      FloatTensor("down", {kExperts, kInner, kHidden}, down_)});
    container_.emplace(Container::Open(directory_.path()).value());
  }

  ExpertDirectory Directory(std::optional<Format> format) const {
    const auto gate_up = container_->FindStack("gate_up", {kExperts, 2 * kInner, kHidden}).value();
    const auto down = container_->FindStack("down", {kExperts, kInner, kHidden}).value();
    ExpertDirectory directory(1);
    for (uint32_t e = 0; e < kExperts; ++e) {
      ExpertRecord record{gate_up[e].Rows(0, kInner), gate_up[e].Rows(kInner, kInner),
                          down[e].Transposed()};
      for (StoredMatrix* matrix : {&record.gate, &record.up, &record.down}) {
        EXPECT_TRUE(!format || ConvertTo(*format, *matrix));
      }
      directory[0].push_back(record);
    }
    return directory;
  }

  Result<std::unique_ptr<ExpertStore>> Make(ExpertDirectory directory, uint64_t slots,
                                            uint64_t staged, size_t threads = 2) {
    pool_ = std::make_unique<ThreadPool>(threads);
    ExpertStoreOptions options;
    options.reader.budget_bytes = slots * ExpertReader::SlotBytes(directory[0][0]);
    options.reader.staging_bytes = staged * ExpertReader::StagingBytes(directory[0][0]);
    options.reader.pool = pool_.get();
    return ExpertStore::Create(options, std::move(directory), MakeIoThreads(3), MakeLruPolicy());
  }

  static std::vector<ExpertId> All() {
    std::vector<ExpertId> ids;
    for (uint32_t e = 0; e < kExperts; ++e) {
      ids.push_back(ExpertId{static_cast<int32_t>(e)});
    }
    return ids;
  }

  void ExpectRight(const FfnView& view, ExpertId expert, Format format) const {
    const auto e = static_cast<size_t>(Raw(expert));
    const auto rows = [&](size_t first) {
      return std::span(gate_up_).subspan((e * 2 * kInner + first) * kHidden, kInner * kHidden);
    };
    std::vector<float> down(size_t{kHidden} * kInner);
    for (size_t r = 0; r < kHidden; ++r) {
      for (size_t c = 0; c < kInner; ++c) {
        down[r * kInner + c] = down_[(e * kInner + c) * kHidden + r];
      }
    }
    ExpectMatrix(view.gate, rows(0), kInner, kHidden, format);
    ExpectMatrix(view.up, rows(kInner), kInner, kHidden, format);
    ExpectMatrix(view.down, down, kHidden, kInner, format);
  }

  static void ExpectMatrix(const WeightView& view, std::span<const float> values, uint32_t rows,
                           uint32_t cols, Format format) {
    std::vector<std::byte> codes(*CodeBytes(format, rows, cols));
    std::vector<std::byte> scales(*ScaleBytes(format, rows, cols));
    ASSERT_TRUE(QuantizeRows({values.data(), rows, cols, cols}, 0,
                             {codes.data(), scales.data(), rows, cols, format}));
    ASSERT_EQ(view.format, format);
    ASSERT_EQ(view.rows, rows);
    ASSERT_EQ(view.cols, cols);
    EXPECT_TRUE(std::ranges::equal(std::span(view.codes, codes.size()), codes));
    EXPECT_TRUE(std::ranges::equal(std::span(view.scales, scales.size()), scales));
  }

  // Runs all experts once, checks their bytes; the error that ended it, if any.
  std::optional<Error> Run(ExpertStore& store, Format format) {
    store.Begin(kLayer, All());
    while (true) {
      auto ready = store.Next();
      if (!ready) {
        return ready.error();
      }
      if (!*ready) {
        return std::nullopt;
      }
      ExpectRight((*ready)->lease.view(), (*ready)->lease.key().expert, format);
      EXPECT_LE(store.held_bytes(), limit_bytes_);
    }
  }

  TempDirectory directory_;
  std::vector<float> gate_up_;
  std::vector<float> down_;
  std::optional<Container> container_;
  std::unique_ptr<ThreadPool> pool_;
  uint64_t limit_bytes_ = std::numeric_limits<uint64_t>::max();
};

TEST_F(ExpertConversionTest, ExpertsAreConvertedWhenTheyAreRead) {
  for (const Format format :
       {kInt4, Format{FormatId::kInt8Row}, Format{FormatId::kBf16}, Format{FormatId::kF32}}) {
    for (const size_t threads : {1U, 3U}) {
      const auto store = Make(Directory(format), kExperts, 2, threads).value();

      EXPECT_FALSE(Run(*store, format));
      EXPECT_FALSE(Run(*store, format));

      EXPECT_EQ(store->stats().conversions, kExperts);
      EXPECT_EQ(store->stats().hits, kExperts);
    }
  }
}

TEST_F(ExpertConversionTest, TransposedExpertsKeepTheirFormat) {
  const auto store = Make(Directory({}), kExperts, 1).value();

  EXPECT_FALSE(Run(*store, {FormatId::kF32}));

  EXPECT_EQ(store->stats().conversions, kExperts);
}

TEST_F(ExpertConversionTest, OneSlotAndRoomToStageOneExpertAreEnough) {
  ExpertDirectory directory = Directory(kInt4);
  limit_bytes_ =
      ExpertReader::SlotBytes(directory[0][0]) + ExpertReader::StagingBytes(directory[0][0]);
  const auto store = Make(std::move(directory), 1, 1).value();

  EXPECT_FALSE(Run(*store, kInt4));
  EXPECT_FALSE(Run(*store, kInt4));

  EXPECT_EQ(store->stats().conversions, 2 * kExperts - 1);  // the last one stayed
}

TEST_F(ExpertConversionTest, AnAbandonedBatchGivesItsRoomBack) {
  const auto store = Make(Directory(kInt4), 2, 1).value();
  for (int i = 0; i < 10; ++i) {
    store->Begin(kLayer, All());
  }

  EXPECT_FALSE(Run(*store, kInt4));
}

TEST_F(ExpertConversionTest, SlotsTakeWhatTheHeldFormatTakes) {
  const ExpertDirectory held = Directory(kInt4);

  // 4 bits and an f32 for 32 columns each: 5 bits; the rows of down end in a group of 8.
  const uint64_t codes = 3 * kInner * kHidden / 2;
  const uint64_t scales = (2 * kInner * kHidden / 32 + kHidden * 2) * sizeof(float);
  EXPECT_GE(ExpertReader::SlotBytes(held[0][0]), codes + scales);
  EXPECT_LT(ExpertReader::SlotBytes(held[0][0]), codes + scales + 4096 + 6 * 64);
  EXPECT_GE(ExpertReader::StagingBytes(held[0][0]), 3 * kInner * kHidden * sizeof(float));
}

TEST_F(ExpertConversionTest, TooLittleRoomToStageIsRefusedWithTheNumber) {
  ExpertDirectory directory = Directory(kInt4);
  const uint64_t needed = ExpertReader::StagingBytes(directory[0][0]);

  const auto store = Make(std::move(directory), kExperts, 0);

  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kNotEnoughMemory);
  EXPECT_THAT(store.error().message, HasSubstr(fmt::format("at least {} bytes", needed)));
}

TEST_F(ExpertConversionTest, ANumberThatIsNotFiniteFailsOnlyItsExpert) {
  const size_t row = kInner + 3;  // up
  Write({{(size_t{2} * 2 * kInner + row) * kHidden + 7, std::numeric_limits<float>::infinity()}});
  const auto store = Make(Directory(kInt4), 1, 1).value();
  const std::vector<ExpertId> others = {ExpertId{0}, ExpertId{5}};

  const auto error = Run(*store, kInt4);

  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, AllOf(HasSubstr("layer 0, expert 2"),
                                    HasSubstr(fmt::format("tensor gate_up[2], rows from {}: row 3, "
                                                          "column 7",
                                                          kInner))));
  store->Begin(kLayer, others);
  for (size_t i = 0; i < others.size(); ++i) {
    const auto ready = store->Next();
    ASSERT_TRUE(ready) << ready.error().message;
    ExpectRight((*ready)->lease.view(), (*ready)->lease.key().expert, kInt4);
  }
}

}  // namespace
}  // namespace coli
