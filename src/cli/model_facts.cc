#include "cli/model_facts.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/loaded_model.h"
#include "kernels/dispatch.h"
#include "model/weights.h"
#include "store/container.h"
#include "sys/memory_meter.h"
#include "sys/thread_pool.h"

namespace coli {
namespace {

constexpr std::string_view kLayerPrefix = "model.layers.";
constexpr std::string_view kScaleSuffix = ".qs";

// The number after "model.layers.", or nothing.
std::optional<uint32_t> LayerOf(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) {
    return std::nullopt;
  }
  uint32_t layer = 0;
  const char* begin = name.data() + kLayerPrefix.size();
  const auto parsed = std::from_chars(begin, name.data() + name.size(), layer);
  return parsed.ec == std::errc{} ? std::optional(layer) : std::nullopt;
}

// Columns of a matrix by its name; experts are asked for elsewhere.
uint32_t Columns(std::string_view name, const ModelConfig& config) {
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  if (ends(".q_b_proj.weight") || ends(".wq_b.weight")) {
    return config.attention.q_lora_rank;
  }
  if (ends(".kv_b_proj.weight")) {
    return config.attention.kv_lora_rank;
  }
  if (ends(".o_proj.weight")) {
    return config.attention.heads * config.attention.v_head_dim;
  }
  if (ends(".shared_experts.down_proj.weight")) {
    return config.expert_intermediate_size * config.shared_experts;
  }
  if (ends(".down_proj.weight")) {
    return name.find(".experts.") != std::string_view::npos ? config.expert_intermediate_size
                                                            : config.dense_intermediate_size;
  }
  return ends(".eh_proj.weight") ? 2 * config.hidden_size : config.hidden_size;
}

// The format of codes that have scales beside them: the one whose byte counts fit.
std::string QuantizedFormat(const Container& container, const std::string& name,
                            const StoredTensor& codes, const ModelConfig& config) {
  const uint32_t cols = Columns(name, config);
  for (const uint64_t row_bytes : {uint64_t{cols}, (uint64_t{cols} + 1) / 2}) {
    const uint64_t rows = row_bytes == 0 ? 0 : codes.bytes / row_bytes;
    if (rows == 0 || rows * row_bytes != codes.bytes || rows > UINT32_MAX) {
      continue;
    }
    if (const auto matrix = container.FindMatrix(name, static_cast<uint32_t>(rows), cols)) {
      const uint32_t group = matrix->format.group;
      const std::string_view format = Info(matrix->format).name;
      return group == 0 ? std::string(format) : fmt::format("{} {}", format, group);
    }
  }
  return "quantised";
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

void CountFormats(const Container& container, ModelFacts& facts) {
  const auto& tensors = container.tensors();
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(kScaleSuffix)) {
      continue;  // counted with its codes
    }
    const auto scales = tensors.find(name + std::string(kScaleSuffix));
    const bool quantised = scales != tensors.end();
    const std::string format = quantised ? QuantizedFormat(container, name, tensor, facts.config)
                                         : LowerCase(Name(tensor.dtype));
    facts.formats[TensorRole(name, facts.config.num_layers())][format] +=
        tensor.bytes + (quantised ? scales->second.bytes : 0);
  }
}

}  // namespace

std::string TensorRole(std::string_view name, uint32_t main_layers) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (const auto layer = LayerOf(name); layer && *layer >= main_layers) {
    return "MTP";
  }
  if (has(".mlp.experts.")) {
    return "experts";
  }
  if (has(".shared_experts.")) {
    return "shared experts";
  }
  if (has(".indexer.")) {
    return "indexer";
  }
  if (has("norm.")) {
    return "norms";
  }
  if (has(".self_attn.")) {
    return "attention";
  }
  if (has(".mlp.gate.")) {
    return "router";
  }
  if (has(".mlp.")) {
    return "dense layers";
  }
  if (has("embed_tokens.")) {
    return "embedding";
  }
  return has("lm_head.") ? "head" : "other";
}

std::string IndexerSchedule(const std::vector<LayerConfig>& layers) {
  std::string text;
  for (size_t begin = 0; begin < layers.size();) {
    size_t end = begin;
    while (end < layers.size() && layers[end].indexer == layers[begin].indexer) {
      ++end;
    }
    const char letter = layers[begin].indexer == IndexerKind::kFull ? 'F' : 'S';
    text += fmt::format("{}{}{}", text.empty() ? "" : " ",
                        end - begin == 1 ? "" : fmt::format("{}", end - begin), letter);
    begin = end;
  }
  return text;
}

Result<ModelFacts> InspectModel(const EngineOptions& options) {
  COLI_RETURN_IF_ERROR(CheckEngineOptions(options));
  COLI_ASSIGN_OR_RETURN(
      ModelConfig config,
      LoadModelConfig(options.model_dir, ModelOverrides{options.latent_norm_eps}));
  COLI_ASSIGN_OR_RETURN(const Container container, Container::Open(options.model_dir));
  COLI_ASSIGN_OR_RETURN(const WeightCatalog catalog,
                        LocateWeights(config, container, options.load_mtp));
  COLI_ASSIGN_OR_RETURN(const KernelTable* kernels, SelectKernels(options.isa));
  auto plan = PlanModel(options, config, catalog);
  ModelFacts facts{.config = std::move(config),
                   .file_bytes = container.total_bytes(),
                   .formats = {},
                   .expert_bytes = catalog.expert_bytes,
                   .expert_count = catalog.expert_count,
                   .largest_expert_bytes = catalog.largest_expert_bytes,
                   .isa = std::string(kernels->name),
                   .isas = {},
                   .threads = options.threads != 0 ? options.threads : PhysicalCores(),
                   .available_bytes = AvailableMemoryBytes(),
                   .plan = std::move(plan)};
  for (const KernelTable* table : AvailableKernels()) {
    facts.isas.emplace_back(table->name);
  }
  CountFormats(container, facts);
  return facts;
}

}  // namespace coli
