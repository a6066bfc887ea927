#include "measure/published_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/checked_math.h"
#include "base/json.h"
#include "synth/shape.h"
#include "synth/tensors.h"
#include "sys/aligned_buffer.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

uint64_t BytesOf(const SynthTensor& tensor) { return tensor.code_bytes() + tensor.scale_bytes(); }

// Adds tensors that the engine would hold.
class Tally {
 public:
  Tally(ModelFacts& facts, uint32_t main_layers) : facts_(facts), main_layers_(main_layers) {}

  void Add(const std::vector<SynthTensor>& tensors) {
    uint64_t layer_expert_bytes = 0;
    for (const SynthTensor& tensor : tensors) {
      const std::string role = TensorRole(tensor.name, main_layers_);
      facts_.formats[role][FormatName(tensor.format)] += BytesOf(tensor);
      facts_.inputs.tensors += tensor.scale_bytes() != 0 ? 2U : 1U;
      if (role == "experts") {
        layer_expert_bytes += BytesOf(tensor);
      } else {
        facts_.inputs.dense_bytes += BytesOf(tensor);
      }
    }
    AddExperts(layer_expert_bytes);
  }

 private:
  // Every expert takes whole pages.
  void AddExperts(uint64_t bytes) {
    if (bytes == 0) {
      return;
    }
    const uint32_t count = facts_.config.router.experts;
    const uint64_t slot = AlignUp(bytes / count, AlignedBuffer::kAlignment);
    facts_.inputs.largest_expert_bytes = std::max(facts_.inputs.largest_expert_bytes, slot);
    facts_.inputs.expert_bytes += slot * count;
    facts_.inputs.policy_bytes += PolicyBytes(kDefaultCachePolicy, std::array{size_t{count}});
    facts_.expert_count += count;
  }

  ModelFacts& facts_;
  uint32_t main_layers_;
};

uint64_t BytesOf(const std::vector<SynthTensor>& tensors) {
  uint64_t bytes = 0;
  for (const SynthTensor& tensor : tensors) {
    bytes += BytesOf(tensor);
  }
  return bytes;
}

}  // namespace

// 3 bits for each weight and 3 more for the few that are large: 3.16 of 4.01 bits where rows are
// Gaussian.
std::vector<PublishedContainer> PublishedContainers() {
  return {{.name = "int3-g64", .expert_format = "int3-g64"},
          {.name = "int4-row", .expert_format = "int4-row"},
          {.name = "int4-row in 3 bits and escapes",
           .expert_format = "int4-row",
           .stored_share = 0.79,
           .readable = false},
          {.name = "int4-g64", .expert_format = "int4-g64"},
          {.name = "int8-row", .expert_format = "int8-row"},
          {.name = "fp8-e4m3-b128", .expert_format = "fp8-e4m3-b128"}};
}

Result<PublishedModel> DescribePublished(std::string_view name,
                                         const PublishedContainer& container) {
  std::optional<SynthShape> shape = NamedShape(name);
  const std::optional<Format> experts = ParseFormat(container.expert_format);
  if (!shape || PublishedVocabulary(name) == 0 || !experts) {
    return Fail(ErrorCode::kInvalidArgument, "for: expected a published model, found \"{}\"", name);
  }
  shape->vocab_size = PublishedVocabulary(name);
  COLI_ASSIGN_OR_RETURN(const Json json, ParseJson(ConfigText(*shape), name));
  COLI_ASSIGN_OR_RETURN(ModelConfig config, ParseModelConfig(json, nullptr, name));
  ModelFacts facts{.config = std::move(config),
                   .file_bytes = 0,
                   .formats = {},
                   .expert_count = 0,
                   .isa = {},
                   .isas = {},
                   .inputs = {},
                   .plan = MemoryPlan{}};
  Tally tally(facts, shape->num_hidden_layers);
  tally.Add(EndTensors(*shape));
  for (uint32_t layer = 0; layer < shape->num_hidden_layers; ++layer) {
    tally.Add(LayerTensors(*shape, layer, *experts));
  }
  const double stored = container.stored_share * static_cast<double>(facts.inputs.expert_bytes);
  const uint64_t download = facts.inputs.dense_bytes + static_cast<uint64_t>(std::llround(stored)) +
                            BytesOf(MtpTensors(*shape, *experts));
  return PublishedModel{std::move(facts), download};
}

}  // namespace coli
