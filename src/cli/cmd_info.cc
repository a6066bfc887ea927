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
          {"expert_bytes", facts.expert_bytes},
          {"largest_expert_bytes", facts.largest_expert_bytes},
          {"indexer_schedule", IndexerSchedule(config.layers)},
          {"indexer_top_k", config.indexer.top_k},
          {"file_bytes", facts.file_bytes},
          {"formats", std::move(formats)},
          {"warnings", config.warnings}};
}

OrderedJson PlanJson(const Result<MemoryPlan>& plan) {
  if (!plan) {
    return {{"ok", false}, {"error", plan.error().message}};
  }
  return {{"ok", true},
          {"budget_bytes", plan->budget_bytes},
          {"total_bytes", plan->total()},
          {"program_bytes", plan->program_bytes},
          {"dense_bytes", plan->dense_bytes},
          {"kv_format", Info(plan->kv_format).name},
          {"kv_bytes_per_sequence", plan->kv_bytes_per_sequence},
          {"sequences", plan->sequences},
          {"scratch_bytes", plan->scratch_bytes},
          {"staging_bytes", plan->staging_bytes},
          {"expert_cache_bytes", plan->expert_cache_bytes},
          {"context", plan->context},
          {"prefill_rows", plan->prefill_rows}};
}

std::string FactsJson(const ModelFacts& facts, const ModelChoice& choice) {
  const OrderedJson json = {{"model", ModelJson(facts, choice)},
                            {"machine",
                             {{"isa", facts.isa},
                              {"isas", facts.isas},
                              {"threads", facts.threads},
                              {"available_bytes", facts.available_bytes}}},
                            {"plan", PlanJson(facts.plan)}};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string Row(std::string_view name, const std::string& value) {
  return fmt::format("  {:<16} {}\n", name, value);
}

std::string ModelRows(const ModelFacts& facts, const ModelChoice& choice) {
  const ModelConfig& config = facts.config;
  std::string text =
      fmt::format("model {}{}\n", choice.directory.string(), choice.built_in ? " (built in)" : "");
  text += Row("type", config.model_type);
  text += Row("layers", fmt::format("{}, {} of them dense, and {} for drafting (MTP)",
                                    config.num_layers(), CountDense(config), config.mtp_layers));
  text += Row("experts", fmt::format("{} per layer, {} per token, {} shared; {} in all, {}",
                                     config.router.experts, config.router.experts_per_token,
                                     config.shared_experts, facts.expert_count,
                                     FormatBytes(facts.expert_bytes)));
  text += Row("indexer", fmt::format("{} keys per query; layers {} (F own, S shared)",
                                     config.indexer.top_k, IndexerSchedule(config.layers)));
  text += Row("context", fmt::format("at most {} tokens", config.max_positions));
  text += Row("vocabulary", fmt::format("{} tokens", config.vocab_size));
  text += Row("files", FormatBytes(facts.file_bytes));
  uint64_t held = 0;
  std::string roles;
  for (const auto& [role, by_format] : facts.formats) {
    std::string formats;
    for (const auto& [format, bytes] : by_format) {
      held += bytes;
      formats += fmt::format("{}{} {}", formats.empty() ? "" : ", ", FormatBytes(bytes), format);
    }
    roles += Row("  " + role, formats);
  }
  text += Row("held as", FormatBytes(held)) + roles;
  for (const std::string& warning : config.warnings) {
    text += Row("note", warning);
  }
  return text;
}

std::string MachineText(const ModelFacts& facts) {
  std::string isas;
  for (const std::string& isa : facts.isas) {
    isas += (isas.empty() ? "" : ", ") + isa;
  }
  return "machine\n" + Row("instructions", fmt::format("{} (has: {})", facts.isa, isas)) +
         Row("threads", fmt::format("{}", facts.threads)) +
         Row("memory", fmt::format("{} available", FormatBytes(facts.available_bytes)));
}

std::string PlanText(const ModelFacts& facts) {
  if (!facts.plan) {
    return "memory plan\n" + Row("does not fit", facts.plan.error().message);
  }
  const MemoryPlan& plan = *facts.plan;
  const uint64_t experts = std::max<uint64_t>(facts.expert_bytes, 1);
  const double share =
      100.0 * static_cast<double>(plan.expert_cache_bytes) / static_cast<double>(experts);
  return "memory plan\n" + Row("budget", FormatBytes(plan.budget_bytes)) +
         Row("planned", FormatBytes(plan.total())) +
         Row("  weights", FormatBytes(plan.dense_bytes)) +
         Row("  experts", fmt::format("{} ({:.0f} % of all)", FormatBytes(plan.expert_cache_bytes),
                                      std::min(share, 100.0))) +
         Row("  KV cache", fmt::format("{} {} for {} tokens",
                                       FormatBytes(plan.kv_bytes_per_sequence * plan.sequences),
                                       Info(plan.kv_format).name, plan.context)) +
         Row("  activations", fmt::format("{} for {} prompt tokens at a time",
                                          FormatBytes(plan.scratch_bytes), plan.prefill_rows)) +
         (plan.staging_bytes == 0 ? "" : Row("  conversion", FormatBytes(plan.staging_bytes))) +
         Row("  program", FormatBytes(plan.program_bytes));
}

}  // namespace

Result<int> InfoCommand(CommandContext& context) {
  const auto named = context.line.argument ? context.line.argument : context.options.Text("model");
  COLI_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(named, ThisExecutable()));
  COLI_ASSIGN_OR_RETURN(const ModelFacts facts,
                        InspectModel(MakeEngineOptions(context.options, choice.directory)));
  context.out.Write(context.line.Has("json") ? FactsJson(facts, choice)
                                             : Harmless(ModelRows(facts, choice) +
                                                        MachineText(facts) + PlanText(facts)));
  return kExitOk;
}

}  // namespace coli
