#include "engine/model_facts.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/loaded_model.h"
#include "kernels/dispatch.h"
#include "model/weights.h"
#include "store/container.h"
#include "sys/memory_meter.h"
#include "sys/thread_pool.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

constexpr std::string_view kLayerPrefix = "model.layers.";

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

void CountFormats(const WeightCatalog& catalog, ModelFacts& facts) {
  const uint32_t main_layers = facts.config.num_layers();
  const auto count = [&](const WeightEntry& entry) {
    facts.formats[TensorRole(entry.name, main_layers)][FormatName(entry.format)] += entry.bytes;
  };
  std::ranges::for_each(catalog.dense, count);
  for (const auto& layer : catalog.experts) {
    for (const ExpertRecord& expert : layer) {
      for (const StoredMatrix* matrix : {&expert.gate, &expert.up, &expert.down}) {
        count(EntryOf(*matrix));
      }
    }
  }
}

bool HasMtp(const ModelConfig& config, const Container& container) {
  return config.mtp_layers > 0 &&
         container.Has(fmt::format("{}{}.eh_proj.weight", kLayerPrefix, config.num_layers()));
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
  COLI_ASSIGN_OR_RETURN(const HeldFormats formats, ResolveFormats(options));
  COLI_ASSIGN_OR_RETURN(const WeightCatalog catalog,
                        LocateWeights(config, container, options.load_mtp, formats));
  COLI_ASSIGN_OR_RETURN(const KernelTable* kernels, SelectKernels(options.isa));
  const PlanInputs inputs = InputsOfPlan(options, container, catalog);
  auto plan = PlanMemory(config, inputs, options);
  ModelFacts facts{.config = std::move(config),
                   .file_bytes = container.total_bytes(),
                   .formats = {},
                   .expert_count = catalog.expert_count,
                   .isa = std::string(kernels->name),
                   .isas = {},
                   .inputs = inputs,
                   .plan = std::move(plan)};
  for (const KernelTable* table : AvailableKernels()) {
    facts.isas.emplace_back(table->name);
  }
  if (options.load_mtp == HasMtp(facts.config, container)) {
    CountFormats(catalog, facts);
  } else {  // the formats are those of the whole directory
    COLI_ASSIGN_OR_RETURN(const WeightCatalog everything,
                          LocateWeights(facts.config, container, !options.load_mtp, formats));
    CountFormats(everything, facts);
  }
  return facts;
}

}  // namespace coli
