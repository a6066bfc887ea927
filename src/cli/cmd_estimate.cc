#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/settings.h"
#include "cli/speed_text.h"
#include "measure/machine_probe.h"
#include "measure/published_model.h"
#include "sys/memory_meter.h"
#include "sys/physical_cores.h"

namespace coli {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr std::array<uint64_t, 7> kBudgets = {16 * kGiB,  24 * kGiB,  32 * kGiB, 64 * kGiB,
                                              128 * kGiB, 256 * kGiB, 512 * kGiB};

// One budget of memory.
struct BudgetRow {
  uint64_t ram_bytes;
  std::optional<uint64_t> least_bytes;  // it does not fit; this would
  double cached_share = 0;
  SpeedQuestion question;
  std::optional<SpeedEstimate> estimate;
};

struct ContainerRows {
  PublishedContainer container;
  uint64_t download_bytes;
  std::vector<BudgetRow> budgets;
};

std::vector<uint64_t> Budgets(const CommandContext& context) {
  if (const auto named = context.options.Integer("ram")) {
    return {*named};
  }
  return {kBudgets.begin(), kBudgets.end()};
}

// Every format that a token of one of the containers is multiplied in.
std::map<std::string, double> FormatsOf(const std::vector<PublishedModel>& models) {
  std::map<std::string, double> formats;
  for (const PublishedModel& model : models) {
    formats.merge(CostOf(model.facts).multiply_adds);
  }
  return formats;
}

Result<MachineSpeed> Probe(CommandContext& context, const std::vector<PublishedModel>& models,
                           const SignalWatch& signals) {
  EngineOptions options = MakeEngineOptions(context.options, {});
  options.ram_bytes = 0;  // it is the model's, not this call's
  const std::string disk = context.line.Text("disk").value_or(".");
  options.model_dir = disk;  // weights that lie there are as good as a file that is written
  if (Output* notes = context.notes()) {
    notes->Write("coli: measuring memory, products and the drive\n");
  }
  BenchOptions bench{.engine = options,
                     .model_name = {},
                     .scratch_dir = disk,
                     .quick = true,
                     .cancelled = [&] { return signals.came(); },
                     .progress = {}};
  COLI_ASSIGN_OR_RETURN(BenchSession quick, BenchSession::Create(bench));
  COLI_ASSIGN_OR_RETURN(MachineSpeed speed, ProbeMachine(quick, FormatsOf(models)));
  bench.quick = false;  // a small file says too little about a drive
  COLI_ASSIGN_OR_RETURN(BenchSession thorough, BenchSession::Create(bench));
  COLI_ASSIGN_OR_RETURN(speed.drive_bytes, DriveBytesPerSecond(thorough));
  return speed;
}

BudgetRow Foretell(const CommandContext& context, const PublishedContainer& container,
                   const PublishedModel& model, const MachineSpeed& speed, uint64_t ram_bytes) {
  EngineOptions options = MakeEngineOptions(context.options, {});
  options.ram_bytes = ram_bytes;
  PlanInputs inputs = model.facts.inputs;
  inputs.threads = options.threads != 0 ? options.threads : PhysicalCores().count();
  BudgetRow row{.ram_bytes = ram_bytes, .least_bytes = {}, .question = {}, .estimate = {}};
  const auto plan = PlanMemory(model.facts.config, inputs, options);
  if (!plan) {
    const auto least = LeastPlan(model.facts.config, inputs, options);
    row.least_bytes = least ? least->total() : 0;
    return row;
  }
  ModelCost cost = CostOf(model.facts);
  cost.read_bytes *= container.stored_share;
  row.question = QuestionOf(context, model.facts, *plan);
  row.cached_share = row.question.cached_share;
  row.estimate = EstimateSpeed(cost, speed, row.question);
  return row;
}

// --- for people ---

std::string BudgetText(const BudgetRow& row) {
  const std::string ram = FormatBytes(row.ram_bytes);
  if (row.least_bytes) {
    return fmt::format("  {:>9}  does not fit: at least {}\n", ram, FormatBytes(*row.least_bytes));
  }
  const SpeedEstimate& estimate = *row.estimate;
  return fmt::format("  {:>9}  {:>5.0f} %  {:>4.0f} %  {:>12}  {:>8.3g} to {:<8.3g} {:<14} {}\n",
                     ram, 100 * row.cached_share, 100 * estimate.hit_rate,
                     FormatRate(estimate.expected, 1), estimate.slowest, estimate.fastest,
                     NameOf(estimate.limit), FormatDuration(estimate.first_token_s.value_or(0)));
}

std::string ContainerText(const ContainerRows& rows, uint32_t prompt_tokens) {
  std::string text = fmt::format(
      "\nexperts {}: {} to download{}\n  {:>9}  {:>7}  {:>6}  {:>12}  {:^20} {:<14} {}\n",
      rows.container.name, FormatBytes(rows.download_bytes),
      rows.container.readable ? "" : "; no reader for it yet", "memory", "experts", "hits",
      "answers", "range", "limit", fmt::format("first of {} tokens", prompt_tokens));
  for (const BudgetRow& row : rows.budgets) {
    text += BudgetText(row);
  }
  return text;
}

// --- for programs ---

OrderedJson BudgetJson(const BudgetRow& row, const MachineSpeed& speed) {
  if (row.least_bytes) {
    return {{"ram_bytes", row.ram_bytes}, {"ok", false}, {"least_bytes", *row.least_bytes}};
  }
  OrderedJson json = {
      {"ram_bytes", row.ram_bytes}, {"ok", true}, {"cached_share", row.cached_share}};
  json.update(SpeedJson(*row.estimate, speed));
  return json;
}

OrderedJson ReportJson(const std::vector<ContainerRows>& containers, const MachineSpeed& speed) {
  OrderedJson rows = OrderedJson::array();
  for (const ContainerRows& container : containers) {
    OrderedJson budgets = OrderedJson::array();
    for (const BudgetRow& row : container.budgets) {
      budgets.push_back(BudgetJson(row, speed));
    }
    rows.push_back({{"experts", container.container.name},
                    {"readable", container.container.readable},
                    {"download_bytes", container.download_bytes},
                    {"budgets", std::move(budgets)}});
  }
  return {{"memory_bytes_per_second", speed.memory_bytes},
          {"drive_bytes_per_second", speed.drive_bytes},
          {"multiply_adds_per_second", speed.multiply_adds},
          {"containers", std::move(rows)}};
}

}  // namespace

Result<int> EstimateCommand(CommandContext& context) {
  const std::string name = context.options.Text("for").value_or("");
  const std::vector<PublishedContainer> containers = PublishedContainers();
  std::vector<PublishedModel> models;
  for (const PublishedContainer& container : containers) {
    COLI_ASSIGN_OR_RETURN(PublishedModel model, DescribePublished(name, container));
    models.push_back(std::move(model));
  }
  const SignalWatch signals(SignalWatch::Second::kEndsUs);
  const auto speed = Probe(context, models, signals);
  if (signals.came()) {
    return StatusAfter(signals);
  }
  COLI_RETURN_IF_ERROR(speed);
  std::vector<ContainerRows> rows;
  for (size_t i = 0; i < models.size(); ++i) {
    rows.push_back({containers[i], models[i].download_bytes, {}});
    for (const uint64_t ram : Budgets(context)) {
      rows.back().budgets.push_back(Foretell(context, containers[i], models[i], *speed, ram));
    }
  }
  if (context.line.Has("json")) {
    context.out.Write(ReportJson(rows, *speed).dump() + "\n");
    return kExitOk;
  }
  std::string text = fmt::format("{} on this machine\n", name) + SpeedRows(*speed, {});
  for (const ContainerRows& container : rows) {
    text += ContainerText(
        container, static_cast<uint32_t>(context.options.Integer("prompt-tokens").value_or(0)));
  }
  context.out.Write(Harmless(text));
  return kExitOk;
}

}  // namespace coli
