#include "model/expert_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/conversion.h"
#include "store/testing/write_safetensors.h"

namespace coli {
namespace {

using coli::testing::FloatTensor;
using coli::testing::PatternFloats;
using coli::testing::TempDirectory;
using coli::testing::TensorToWrite;
using coli::testing::WriteSafetensors;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kExperts = 3;
constexpr uint32_t kHidden = 6;
constexpr uint32_t kInner = 4;
constexpr char kPrefix[] = "model.layers.1.mlp.experts.";

// A dense layer and a sparse one.
ModelConfig Config(uint32_t inner = kInner) {
  ModelConfig config{};
  config.hidden_size = kHidden;
  config.expert_intermediate_size = inner;
  config.router.experts = kExperts;
  config.layers = {{IndexerKind::kFull, FfnKind::kDense}, {IndexerKind::kFull, FfnKind::kSparse}};
  return config;
}

std::vector<float> Pattern(uint32_t expert, const std::string& matrix, uint32_t inner) {
  return PatternFloats(size_t{inner} * kHidden,
                       expert * 1000 + static_cast<uint64_t>(matrix.front()));
}

class ExpertCatalogTest : public ::testing::Test {
 protected:
  void Write(const std::vector<TensorToWrite>& tensors) {
    WriteSafetensors(directory_ / "model.safetensors", tensors);
  }

  Result<ExpertDirectory> Locate(uint32_t inner = kInner) {
    container_.emplace(Container::Open(directory_.path()).value());
    return LocateExperts(Config(inner), *container_, 2);
  }

  // The fused layout, [out, in] or transposed.
  static std::vector<TensorToWrite> Fused(uint32_t inner = kInner, bool transposed = false) {
    std::vector<float> gate_up;
    std::vector<float> down;
    for (uint32_t e = 0; e < kExperts; ++e) {
      for (const char* matrix : {"gate", "up", "down"}) {
        const std::vector<float> values = Pattern(e, matrix, inner);
        std::vector<float>& stack = matrix[0] == 'd' ? down : gate_up;
        stack.insert(stack.end(), values.begin(), values.end());
      }
    }
    return {Stack("gate_up_proj", 2 * inner, kHidden, gate_up, transposed),
            Stack("down_proj", kHidden, inner, down, transposed)};
  }

  static TensorToWrite Stack(const std::string& name, uint32_t rows, uint32_t cols,
                             const std::vector<float>& values, bool transposed) {
    if (!transposed) {
      return FloatTensor(kPrefix + name, {kExperts, rows, cols}, values);
    }
    std::vector<float> exchanged(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t expert = i / (rows * cols);
      const size_t r = i / cols % rows;
      exchanged[(expert * cols + i % cols) * rows + r] = values[i];
    }
    return FloatTensor(kPrefix + name, {kExperts, cols, rows}, exchanged);
  }

  static std::vector<TensorToWrite> OneByOne() {
    std::vector<TensorToWrite> tensors;
    for (uint32_t e = 0; e < kExperts; ++e) {
      for (const std::string matrix : {"gate", "up", "down"}) {
        const bool is_down = matrix == "down";
        tensors.push_back(FloatTensor(fmt::format("{}{}.{}_proj.weight", kPrefix, e, matrix),
                                      {is_down ? kHidden : kInner, is_down ? kInner : kHidden},
                                      Pattern(e, matrix, kInner)));
      }
    }
    return tensors;
  }

  void ExpectExperts(const Result<ExpertDirectory>& directory, uint32_t inner = kInner) {
    ASSERT_TRUE(directory) << directory.error().message;
    EXPECT_TRUE(directory->at(0).empty());
    ASSERT_EQ(directory->at(1).size(), kExperts);
    for (uint32_t e = 0; e < kExperts; ++e) {
      const ExpertRecord& record = directory->at(1)[e];
      const FfnView view = Read(record);
      ExpectMatrix(view.gate, inner, kHidden, Pattern(e, "gate", inner));
      ExpectMatrix(view.up, inner, kHidden, Pattern(e, "up", inner));
      ExpectMatrix(view.down, kHidden, inner, Pattern(e, "down", inner));
    }
  }

  // The expert as an ExpertStore holds it.
  FfnView Read(const ExpertRecord& record) {
    const ExpertLayout layout(record);
    stored_ = AlignedBuffer::Allocate(ExpertLayout::BufferBytes(record)).value();
    for (const ExpertLayout::Piece& read : layout.pieces()) {
      EXPECT_TRUE(
          read.file->ReadExact(read.offset, stored_.bytes().subspan(read.position, read.needed)));
    }
    const FfnView stored = layout.View(stored_.data(), record);
    if (!record.converts()) {
      return stored;
    }
    held_ = AlignedBuffer::Allocate(HeldBytes(record)).value();
    ThreadPool pool(2);
    return ConvertExpert(record, stored, held_.bytes(), pool).value();
  }

  static void ExpectMatrix(const WeightView& view, uint32_t rows, uint32_t cols,
                           const std::vector<float>& expected) {
    ASSERT_EQ(view.rows, rows);
    ASSERT_EQ(view.cols, cols);
    std::vector<float> values(expected.size());
    for (uint32_t r = 0; r < rows; ++r) {
      DecodeRow(view, r, values.data() + size_t{r} * cols);
    }
    EXPECT_EQ(values, expected);
  }

  void ExpectError(const Result<ExpertDirectory>& directory, ErrorCode code,
                   const std::vector<std::string>& texts) {
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code, code) << directory.error().message;
    for (const std::string& text : texts) {
      EXPECT_THAT(directory.error().message, HasSubstr(text));
    }
  }

  TempDirectory directory_;
  std::optional<Container> container_;
  AlignedBuffer stored_;
  AlignedBuffer held_;
};

TEST_F(ExpertCatalogTest, FindsExpertsOneByOne) {
  Write(OneByOne());

  ExpectExperts(Locate());
}

TEST_F(ExpertCatalogTest, CutsFusedExpertsApart) {
  Write(Fused());

  ExpectExperts(Locate());
}

TEST_F(ExpertCatalogTest, FusedExpertsMayBeSquare) {
  constexpr uint32_t kHalf = kHidden / 2;  // [2I, H] is square
  Write(Fused(kHalf));

  ExpectExperts(Locate(kHalf), kHalf);
}

TEST_F(ExpertCatalogTest, FusedExpertsMayBeTransposed) {
  Write(Fused(kInner, true));

  ExpectExperts(Locate());
}

// gate_up fits both orders; down tells.
TEST_F(ExpertCatalogTest, SquareFusedExpertsMayBeTransposed) {
  constexpr uint32_t kHalf = kHidden / 2;
  Write(Fused(kHalf, true));

  ExpectExperts(Locate(kHalf), kHalf);
}

TEST_F(ExpertCatalogTest, FusedTensorsInTwoOrdersAreRefused) {
  std::vector<TensorToWrite> tensors = Fused();
  tensors[1] = Fused(kInner, true)[1];
  Write(tensors);

  ExpectError(Locate(), ErrorCode::kCorrupt, {"mlp.experts.down_proj", "[3, 6, 4]", "[3, 4, 6]"});
}

TEST_F(ExpertCatalogTest, BothLayoutsInOneLayerAreRefused) {
  std::vector<TensorToWrite> tensors = Fused();
  const std::vector<TensorToWrite> others = OneByOne();
  tensors.insert(tensors.end(), others.begin(), others.end());
  Write(tensors);

  ExpectError(Locate(), ErrorCode::kCorrupt,
              {"layer 1", "found both", "mlp.experts.gate_up_proj", "0.gate_proj.weight"});
}

TEST_F(ExpertCatalogTest, AFusedTensorWithoutTheOtherIsRefused) {
  std::vector<TensorToWrite> tensors = Fused();
  tensors.pop_back();
  Write(tensors);

  ExpectError(Locate(), ErrorCode::kNotFound, {"mlp.experts.down_proj"});
}

TEST_F(ExpertCatalogTest, FusedExpertsOfAnotherNumberAreRefused) {
  std::vector<TensorToWrite> tensors = Fused();
  tensors[0].shape = {kExperts / 3, 2 * kInner * 3, kHidden};
  Write(tensors);

  ExpectError(Locate(), ErrorCode::kCorrupt,
              {"mlp.experts.gate_up_proj", "[3, 8, 6]", "[1, 24, 6]"});
}

TEST_F(ExpertCatalogTest, FusedExpertsThatAreNotFloatsAreRefused) {
  std::vector<TensorToWrite> tensors = Fused();
  tensors[1].dtype = "U8";
  tensors[1].shape.back() *= 4;
  Write(tensors);

  ExpectError(Locate(), ErrorCode::kUnsupported,
              {"mlp.experts.down_proj", "F32, BF16 or F16", "U8"});
}

}  // namespace
}  // namespace coli
