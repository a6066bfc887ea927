// For tests: a model directory with routed experts only, and what each of them must look like in
// memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/expert_store.h"
#include "store/testing/write_safetensors.h"

namespace coli::testing {

// Layer 0 has no experts (it is dense); the last layer is int8, the others int4-grouped. Two files,
// in the colibri container's order of bytes, cut so that one expert straddles them.
class ExpertModel {
 public:
  static constexpr uint32_t kHidden = 64;
  static constexpr uint32_t kInner = 96;
  static constexpr int kLayers = 4;
  static constexpr int kExperts = 10;

  enum class Down { kWithTheOthers, kApart };  // where the codes of down lie

  explicit ExpertModel(Down down = Down::kWithTheOthers) {
    std::vector<QuantizedTensors> matrices;
    for (int layer = 1; layer < kLayers; ++layer) {
      for (int expert = 0; expert < kExperts; ++expert) {
        AddExpert(layer, expert, matrices);
      }
    }
    if (down == Down::kApart) {
      const auto apart = std::ranges::stable_partition(matrices, [](const QuantizedTensors& m) {
        return m.codes.name.find("down") == std::string::npos;
      });
      WriteFileOf({apart.begin(), apart.end()}, "out-00002.safetensors");
      matrices.erase(apart.begin(), apart.end());
    }
    const size_t cut = matrices.size() / 2 + 1;
    WriteFileOf({matrices.begin(), matrices.begin() + static_cast<std::ptrdiff_t>(cut)},
                "out-00000.safetensors");
    WriteFileOf({matrices.begin() + static_cast<std::ptrdiff_t>(cut), matrices.end()},
                "out-00001.safetensors");
    Reopen();
  }

  void Reopen() {
    auto container = Container::Open(directory_.path());
    COLI_CHECK(container.has_value());
    container_.emplace(*std::move(container));
  }

  static std::string Name(int layer, int expert, const std::string& matrix) {
    return "model.layers." + std::to_string(layer) + ".mlp.experts." + std::to_string(expert) +
           "." + matrix + ".weight";
  }

  ExpertDirectory Directory() const {
    ExpertDirectory directory(kLayers);
    for (int layer = 1; layer < kLayers; ++layer) {
      for (int expert = 0; expert < kExperts; ++expert) {
        const auto find = [&](const std::string& matrix, uint32_t rows, uint32_t cols) {
          return container_->FindMatrix(Name(layer, expert, matrix), rows, cols).value();
        };
        directory[static_cast<size_t>(layer)].push_back({find("gate_proj", kInner, kHidden),
                                                         find("up_proj", kInner, kHidden),
                                                         find("down_proj", kHidden, kInner)});
      }
    }
    return directory;
  }

  // Budget bytes of one expert of a layer.
  uint64_t Cost(int layer) const {
    return ExpertReader::SlotBytes(Directory()[static_cast<size_t>(layer)][0]);
  }

  void ExpectRight(const FfnView& view, ExpertKey key) const {
    ExpectGateAndUp(view, key);
    ExpectMatrix(view.down, key, "down_proj");
  }
  void ExpectGateAndUp(const FfnView& view, ExpertKey key) const {
    ExpectMatrix(view.gate, key, "gate_proj");
    ExpectMatrix(view.up, key, "up_proj");
  }

  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  void AddExpert(int layer, int expert, std::vector<QuantizedTensors>& matrices) {
    const Format format =
        layer == kLayers - 1 ? Format{FormatId::kInt8Row} : Format{FormatId::kInt4Grouped, 32};
    const auto seed = static_cast<uint64_t>(layer * 10'000 + expert * 500);
    for (const std::string matrix : {"down_proj", "gate_proj", "up_proj"}) {  // the order of names
      const bool down = matrix == "down_proj";
      matrices.push_back(QuantizedMatrix(Name(layer, expert, matrix), format,
                                         down ? kHidden : kInner, down ? kInner : kHidden,
                                         seed + static_cast<uint64_t>(matrix.front())));
      expected_[matrices.back().codes.name] = matrices.back();
    }
  }

  void WriteFileOf(const std::vector<QuantizedTensors>& matrices, std::string_view name) {
    std::vector<TensorToWrite> tensors;
    for (const auto& matrix : matrices) {
      tensors.push_back(matrix.scales);
    }
    for (const auto& matrix : matrices) {
      tensors.push_back(matrix.codes);
    }
    WriteSafetensors(directory_ / name, tensors);
  }

  void ExpectMatrix(const WeightView& view, ExpertKey key, const std::string& matrix) const {
    const QuantizedTensors& expected = expected_.at(Name(Raw(key.layer), Raw(key.expert), matrix));
    EXPECT_EQ(std::memcmp(view.codes, expected.codes.bytes.data(), expected.codes.bytes.size()), 0)
        << expected.codes.name;
    EXPECT_EQ(std::memcmp(view.scales, expected.scales.bytes.data(), expected.scales.bytes.size()),
              0)
        << expected.scales.name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.scales) % alignof(float), 0U);
  }

  TempDirectory directory_;
  std::map<std::string, QuantizedTensors> expected_;
  std::optional<Container> container_;
};

inline std::vector<ExpertId> Ids(const std::vector<int>& ids) {
  std::vector<ExpertId> result;
  for (const int id : ids) {
    result.push_back(ExpertId{id});
  }
  return result;
}

// Of a layer of an ExpertModel.
inline std::vector<ExpertId> AllIds() {
  std::vector<ExpertId> ids;
  for (int id = 0; id < ExpertModel::kExperts; ++id) {
    ids.push_back(ExpertId{id});
  }
  return ids;
}

}  // namespace coli::testing
