#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/settings.h"
#include "engine/model_facts.h"

namespace coli {
namespace {

uint32_t CountDense(const ModelConfig& config) {
  return static_cast<uint32_t>(std::ranges::count_if(
      config.layers, [](const LayerConfig& layer) { return layer.ffn == FfnKind::kDense; }));
}

OrderedJson ModelJson(const ModelFacts& facts, const ModelChoice& choice) {
  const ModelConfig& config = facts.config;
  OrderedJson formats = OrderedJson::object();
  for (const auto& [role, by_format] : facts.formats) {
    for (const auto& [format, bytes] : by_format) {
      formats[role][format] = bytes;
    }
  }
  return {{"directory", choice.directory.string()},
          {"built_in", choice.built_in},
          {"type", config.model_type},
          {"layers", config.num_layers()},
          {"dense_layers", CountDense(config)},
          {"mtp_layers", config.mtp_layers},
          {"hidden_size", config.hidden_size},
          {"vocabulary", config.vocab_size},
          {"context", config.max_positions},
          {"experts_per_layer", config.router.experts},
          {"experts_per_token", config.router.experts_per_token},
          {"shared_experts", config.shared_experts},
          {"experts", facts.expert_count},
          {"expert_bytes", facts.inputs.expert_bytes},
          {"largest_expert_bytes", facts.inputs.largest_expert_bytes},
          {"indexer_schedule", IndexerSchedule(config.layers)},
          {"indexer_top_k", config.indexer.top_k},
          {"file_bytes", facts.file_bytes},
          {"formats", std::move(formats)},
          {"warnings", config.warnings}};
}

std::string FactsJson(const ModelFacts& facts, const ModelChoice& choice) {
  const OrderedJson json = {{"model", ModelJson(facts, choice)},
                            {"machine",
                             {{"isa", facts.isa},
                              {"isas", facts.isas},
                              {"threads", facts.inputs.threads},
                              {"available_bytes", facts.inputs.available_bytes}}}};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string ModelRows(const ModelFacts& facts, const ModelChoice& choice) {
  const ModelConfig& config = facts.config;
  std::string text =
      fmt::format("model {}{}\n", choice.directory.string(), choice.built_in ? " (built in)" : "");
  text += FactLine("type", config.model_type);
  text +=
      FactLine("layers", fmt::format("{}, {} of them dense, and {} for drafting (MTP)",
                                     config.num_layers(), CountDense(config), config.mtp_layers));
  text += FactLine("experts", fmt::format("{} per layer, {} per token, {} shared; {} in all, {}",
                                          config.router.experts, config.router.experts_per_token,
                                          config.shared_experts, facts.expert_count,
                                          FormatBytes(facts.inputs.expert_bytes)));
  text += FactLine("indexer", fmt::format("{} keys per query; layers {} (F own, S shared)",
                                          config.indexer.top_k, IndexerSchedule(config.layers)));
  text += FactLine("context", fmt::format("at most {} tokens", config.max_positions));
  text += FactLine("vocabulary", fmt::format("{} tokens", config.vocab_size));
  text += FactLine("files", FormatBytes(facts.file_bytes));
  uint64_t held = 0;
  std::string roles;
  for (const auto& [role, by_format] : facts.formats) {
    std::string formats;
    for (const auto& [format, bytes] : by_format) {
      held += bytes;
      formats += fmt::format("{}{} {}", formats.empty() ? "" : ", ", FormatBytes(bytes), format);
    }
    roles += FactLine("  " + role, formats);
  }
  text += FactLine("held as", FormatBytes(held)) + roles;
  for (const std::string& warning : config.warnings) {
    text += FactLine("note", warning);
  }
  return text;
}

std::string MachineText(const ModelFacts& facts) {
  std::string isas;
  for (const std::string& isa : facts.isas) {
    isas += (isas.empty() ? "" : ", ") + isa;
  }
  return "machine\n" + FactLine("instructions", fmt::format("{} (has: {})", facts.isa, isas)) +
         FactLine("threads", fmt::format("{}", facts.inputs.threads)) +
         FactLine("memory", fmt::format("{} available", FormatBytes(facts.inputs.available_bytes)));
}

}  // namespace

Result<int> InfoCommand(CommandContext& context) {
  const auto named = context.line.argument ? context.line.argument : context.options.Text("model");
  COLI_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(named, ThisExecutable()));
  COLI_ASSIGN_OR_RETURN(const ModelFacts facts,
                        InspectModel(MakeEngineOptions(context.options, choice.directory)));
  context.out.Write(context.line.Has("json")
                        ? FactsJson(facts, choice)
                        : Harmless(ModelRows(facts, choice) + MachineText(facts)));
  return kExitOk;
}

}  // namespace coli
