#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/settings.h"
#include "cli/speed_text.h"
#include "engine/model_facts.h"
#include "measure/machine_probe.h"
#include "sys/memory_meter.h"

namespace coli {
namespace {

// What answers would be like.
struct Forecast {
  MachineSpeed speed;
  std::string drive_note;  // why the drive's speed is not known, if it is not
  SpeedQuestion question;
  std::optional<SpeedEstimate> estimate;
};

// The plan for another context.
struct ContextRow {
  uint32_t context;
  Result<MemoryPlan> plan;
};

struct PlanReport {
  ModelChoice choice;
  ModelFacts facts;
  MemoryRoom room;
  std::vector<ContextRow> contexts;
  std::optional<Result<Forecast>> forecast;  // if the plan works out
};

uint64_t ExpertsIn(const ModelFacts& facts, uint64_t bytes) {
  const double share = static_cast<double>(bytes) /
                       static_cast<double>(std::max<uint64_t>(facts.inputs.expert_bytes, 1));
  return static_cast<uint64_t>(share * static_cast<double>(facts.expert_count));
}

std::vector<ContextRow> PlanContexts(const ModelFacts& facts, EngineOptions options) {
  std::vector<ContextRow> rows;
  for (const uint32_t context : {1024U, 4096U, 16'384U, 65'536U, 262'144U, 1'048'576U}) {
    options.context = context;
    if (context <= facts.config.max_positions) {
      rows.push_back({context, PlanMemory(facts.config, facts.inputs, options)});
    }
  }
  return rows;
}

Result<Forecast> Foretell(const CommandContext& context, const ModelFacts& facts,
                          EngineOptions options) {
  options.ram_bytes = 0;  // what measuring takes is given back before anything is loaded
  COLI_ASSIGN_OR_RETURN(BenchSession session, BenchSession::Create({.engine = options,
                                                                    .model_name = {},
                                                                    .scratch_dir = {},
                                                                    .quick = true,
                                                                    .cancelled = {},
                                                                    .progress = {}}));
  const ModelCost cost = CostOf(facts);
  Forecast forecast;
  COLI_ASSIGN_OR_RETURN(forecast.speed, ProbeMachine(session, cost.multiply_adds));
  if (const auto drive = DriveBytesPerSecond(session)) {
    forecast.speed.drive_bytes = *drive;
  } else {
    forecast.drive_note = drive.error().message;
  }
  forecast.question = QuestionOf(context, facts, *facts.plan);
  forecast.estimate = EstimateSpeed(cost, forecast.speed, forecast.question);
  return forecast;
}

// --- for programs ---

OrderedJson PartsJson(const MemoryPlan& plan, const ModelFacts& facts) {
  return {{"ok", true},
          {"budget_bytes", plan.budget_bytes},
          {"total_bytes", plan.total()},
          {"program_bytes", plan.program_bytes},
          {"dense_bytes", plan.dense_bytes},
          {"kv_format", Info(plan.kv_format).name},
          {"kv_bytes_per_sequence", plan.kv_bytes_per_sequence},
          {"sequences", plan.sequences},
          {"scratch_bytes", plan.scratch_bytes},
          {"staging_bytes", plan.staging_bytes},
          {"policy_bytes", plan.policy_bytes},
          {"expert_cache_bytes", plan.expert_cache_bytes},
          {"reads_bytes", plan.reads_bytes},
          {"experts_cached", ExpertsIn(facts, plan.resident_bytes())},
          {"experts", facts.expert_count},
          {"context", plan.context},
          {"prefill_rows", plan.prefill_rows}};
}

OrderedJson DoesNotFitJson(const ModelFacts& facts, const EngineOptions& options) {
  OrderedJson json = {{"ok", false}, {"error", facts.plan.error().message}};
  if (const auto least = LeastPlan(facts.config, facts.inputs, options)) {
    json["least_bytes"] = least->total();
    json["context_that_fits"] = ContextThatFits(facts.config, facts.inputs, options);
  }
  return json;
}

OrderedJson ContextsJson(const PlanReport& report) {
  OrderedJson rows = OrderedJson::array();
  for (const ContextRow& row : report.contexts) {
    rows.push_back(row.plan
                       ? OrderedJson{{"context", row.context},
                                     {"ok", true},
                                     {"kv_bytes_per_sequence", row.plan->kv_bytes_per_sequence},
                                     {"expert_cache_bytes", row.plan->expert_cache_bytes}}
                       : OrderedJson{{"context", row.context}, {"ok", false}});
  }
  return rows;
}

OrderedJson ReportJson(const PlanReport& report, const EngineOptions& options) {
  OrderedJson plan = report.facts.plan ? PartsJson(*report.facts.plan, report.facts)
                                       : DoesNotFitJson(report.facts, options);
  plan["contexts"] = ContextsJson(report);
  OrderedJson json = {{"model", report.choice.directory.string()},
                      {"memory",
                       {{"available_bytes", report.facts.inputs.available_bytes},
                        {"machine_bytes", report.room.machine_bytes},
                        {"group_bytes", nullptr},
                        {"reserve_bytes", ReservedBytes(report.facts.inputs.available_bytes)}}},
                      {"plan", std::move(plan)},
                      {"speed", nullptr}};
  if (report.room.group_bytes) {
    json["memory"]["group_bytes"] = *report.room.group_bytes;
  }
  if (report.forecast && *report.forecast && (*report.forecast)->estimate) {
    json["speed"] = SpeedJson(*(*report.forecast)->estimate, (*report.forecast)->speed);
  }
  return json;
}

// --- for people ---

std::string MemoryRows(const PlanReport& report, const EngineOptions& options) {
  const uint64_t available = report.facts.inputs.available_bytes;
  const uint64_t machine = report.room.machine_bytes;
  std::string text = FactLine(
      "available", report.room.group_bytes.value_or(machine) < machine
                       ? fmt::format("{}, all that a control group leaves", FormatBytes(available))
                       : FormatBytes(available));
  const uint64_t reserve = ReservedBytes(available);
  return text +
         (options.ram_bytes != 0
              ? FactLine("budget", fmt::format("{}, by --ram", FormatBytes(options.ram_bytes)))
              : FactLine("budget",
                         fmt::format("{}; {} stay for the rest of the machine",
                                     FormatBytes(available - reserve), FormatBytes(reserve))));
}

std::string PartRows(const MemoryPlan& plan, const ModelFacts& facts) {
  const uint64_t cached = ExpertsIn(facts, plan.resident_bytes());
  const uint64_t all = std::max<uint64_t>(facts.expert_count, 1);
  return FactLine("planned", FormatBytes(plan.total())) +
         FactLine("  program", FormatBytes(plan.program_bytes)) +
         FactLine("  weights",
                  fmt::format("{} that every token uses", FormatBytes(plan.dense_bytes))) +
         FactLine("  KV cache",
                  fmt::format("{} {} for {} tokens{}",
                              FormatBytes(plan.kv_bytes_per_sequence * plan.sequences),
                              Info(plan.kv_format).name, plan.context,
                              plan.sequences == 1
                                  ? ""
                                  : fmt::format(", {} of them at a time", plan.sequences))) +
         FactLine("  activations",
                  fmt::format("{} for {} prompt tokens at a time", FormatBytes(plan.scratch_bytes),
                              plan.prefill_rows)) +
         (plan.staging_bytes == 0
              ? ""
              : FactLine("  staging", fmt::format("{} for experts on their way to their format",
                                                  FormatBytes(plan.staging_bytes)))) +
         FactLine("  routing", fmt::format("{} for what is learned about experts",
                                           FormatBytes(plan.policy_bytes))) +
         (plan.reads_bytes == 0
              ? ""
              : FactLine("  reads", fmt::format("{} for experts that are being read",
                                                FormatBytes(plan.reads_bytes)))) +
         FactLine("  experts",
                  fmt::format("{}: {} of {} ({:.0f} %)", FormatBytes(plan.resident_bytes()), cached,
                              facts.expert_count,
                              100.0 * static_cast<double>(cached) / static_cast<double>(all)));
}

std::string DoesNotFitRows(const ModelFacts& facts, const EngineOptions& options) {
  std::string text = FactLine("does not fit", facts.plan.error().message);
  const auto least = LeastPlan(facts.config, facts.inputs, options);
  if (!least) {
    return text;
  }
  text += FactLine("what would", fmt::format("a budget of {}", FormatBytes(least->total())));
  const uint32_t context = ContextThatFits(facts.config, facts.inputs, options);
  return context == 0 ? text : text + FactLine("", fmt::format("or --ctx {}", context));
}

std::string ContextRows(const PlanReport& report) {
  std::string text;
  for (const ContextRow& row : report.contexts) {
    text += FactLine(fmt::format("{} tokens", row.context),
                     row.plan ? fmt::format("{} KV cache, room for {} experts",
                                            FormatBytes(row.plan->kv_bytes_per_sequence),
                                            ExpertsIn(report.facts, row.plan->resident_bytes()))
                              : std::string("does not fit"));
  }
  return text.empty() ? text : "by context\n" + text;
}

std::string ForecastRows(const Result<Forecast>& forecast) {
  if (!forecast) {
    return "speed\n" + FactLine("not measured", forecast.error().message);
  }
  return "speed\n" + SpeedRows(forecast->speed, forecast->drive_note) +
         (forecast->estimate ? EstimateRows(*forecast->estimate, forecast->question)
                             : FactLine("answers", "not known without the drive's speed"));
}

std::string ReportText(const PlanReport& report, const EngineOptions& options) {
  return fmt::format("memory for {}{}\n", report.choice.directory.string(),
                     report.choice.built_in ? " (built in)" : "") +
         MemoryRows(report, options) +
         (report.facts.plan ? PartRows(*report.facts.plan, report.facts)
                            : DoesNotFitRows(report.facts, options)) +
         ContextRows(report) + (report.forecast ? ForecastRows(*report.forecast) : "");
}

}  // namespace

Result<int> PlanCommand(CommandContext& context) {
  const auto named = context.line.argument ? context.line.argument : context.options.Text("model");
  COLI_ASSIGN_OR_RETURN(ModelChoice choice, ChooseModel(named, ThisExecutable()));
  const EngineOptions options = MakeEngineOptions(context.options, choice.directory);
  const MemoryRoom room = ReadMemoryRoom();
  COLI_ASSIGN_OR_RETURN(ModelFacts facts, InspectModel(options));
  std::vector<ContextRow> contexts = PlanContexts(facts, options);
  std::optional<Result<Forecast>> forecast;
  if (facts.plan) {
    forecast = Foretell(context, facts, options);
  }
  const PlanReport report{std::move(choice), std::move(facts), room, std::move(contexts),
                          std::move(forecast)};
  context.out.Write(context.line.Has("json")
                        ? ReportJson(report, options)
                                  .dump(-1, ' ', false, OrderedJson::error_handler_t::replace) +
                              "\n"
                        : Harmless(ReportText(report, options)));
  return kExitOk;
}

}  // namespace coli
