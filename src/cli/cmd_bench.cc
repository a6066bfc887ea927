#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/human.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/text_input.h"
#include "measure/report.h"
#include "measure/scenario.h"

namespace coli {
namespace {

void WriteLine(Output& output, std::string_view message) {
  output.Write(OneLine(fmt::format("coli: {}", message)) + "\n");
}

int WrongUsage(CommandContext& context, std::string_view message) {
  WriteLine(context.err, fmt::format("{}; see coli bench --help", message));
  return kExitUsage;
}

TableStyle StyleOf(const CommandContext& context) {
  return context.line.Has("markdown") ? TableStyle::kMarkdown : TableStyle::kText;
}

Result<BenchReport> ReadReport(const std::string& file) {
  constexpr size_t kMaxBytes = size_t{16} << 20;
  COLI_ASSIGN_OR_RETURN(const std::string text, ReadWholeInput(file, kMaxBytes));
  return ParseReport(text, file);
}

Result<int> CompareFiles(CommandContext& context) {
  const std::vector<std::string>& files = context.line.arguments;
  COLI_ASSIGN_OR_RETURN(const BenchReport a, ReadReport(files[0]));
  COLI_ASSIGN_OR_RETURN(const BenchReport b, ReadReport(files[1]));
  const ReportComparison comparison = Compare(a, b);
  for (const std::string& difference : comparison.host_differences) {
    WriteLine(context.err, fmt::format("the hosts differ in {}", difference));
  }
  context.out.Write(Harmless(ComparisonTable(comparison, StyleOf(context))));
  return kExitOk;
}

// The scenarios with these names, in the order of the table; all of them when there are no names.
// Error: kInvalidArgument for a name that is none.
Result<std::vector<const Scenario*>> ChooseScenarios(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (FindScenario(name) == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "unknown scenario \"{}\": expected {}", name,
                  ScenarioNames());
    }
  }
  std::vector<const Scenario*> chosen;
  for (const Scenario& scenario : AllScenarios()) {
    if (names.empty() || std::ranges::find(names, scenario.name) != names.end()) {
      chosen.push_back(&scenario);
    }
  }
  return chosen;
}

// The model of --model, which must be one even if no scenario asks for it, or the built-in one if
// some do.
Result<ModelChoice> ModelFor(CommandContext& context,
                             const std::vector<const Scenario*>& scenarios) {
  const auto named = context.options.Text("model");
  if (!named && !std::ranges::any_of(scenarios, &Scenario::needs_model)) {
    return ModelChoice{};
  }
  return ChooseModel(named, ThisExecutable());
}

// "built-in", or the last part of the directory.
std::string NameOf(const ModelChoice& model) {
  const std::filesystem::path directory = model.directory.lexically_normal();
  return model.built_in             ? "built-in"
         : directory.has_filename() ? directory.filename().string()
                                    : directory.parent_path().filename().string();
}

// Runs the scenarios. What one of them cannot do does not keep the others from running. False: an
// error was shown.
bool RunScenarios(CommandContext& context, const std::vector<const Scenario*>& scenarios,
                  BenchSession& session, Progress& progress) {
  bool good = true;
  for (const Scenario* scenario : scenarios) {
    if (session.cancelled()) {
      break;
    }
    if (const Status status = scenario->run(session); !status) {
      progress.Clear();  // the error gets a line of its own
      WriteLine(context.err, fmt::format("{}: {}", scenario->name, status.error().message));
      good = false;
    }
  }
  return good;
}

Result<int> Measure(CommandContext& context, const std::vector<const Scenario*>& scenarios) {
  COLI_ASSIGN_OR_RETURN(const ModelChoice model, ModelFor(context, scenarios));
  size_t expected = 0;
  for (const Scenario* scenario : scenarios) {
    expected += scenario->results;
  }
  const SignalWatch signals(SignalWatch::Second::kEndsUs);
  Progress progress(context.notes(), "measuring", ProgressUnit::kMeasurements);
  COLI_ASSIGN_OR_RETURN(
      BenchSession session,
      BenchSession::Create({.engine = MakeEngineOptions(context.options, model.directory),
                            .model_name = NameOf(model),
                            .scratch_dir = context.line.Text("dir").value_or("."),
                            .quick = context.line.Has("quick"),
                            .cold = context.line.Has("cold"),
                            .cancelled = [&] { return signals.came(); },
                            .progress = [&](size_t done) { progress.Update(done, expected); }}));
  const bool good = RunScenarios(context, scenarios, session, progress);
  progress.Clear();
  if (session.results().empty() && !good) {
    return kExitFailed;
  }
  const BenchReport report{ReadHostFacts(session, COLI_VERSION), session.results()};
  context.out.Write(context.line.Has("json") ? ReportJson(report)
                                             : Harmless(ReportTable(report, StyleOf(context))));
  if (signals.came()) {
    return StatusAfter(signals);
  }
  return good ? kExitOk : kExitFailed;
}

}  // namespace

Result<int> BenchCommand(CommandContext& context) {
  const CommandLine& line = context.line;
  if (line.Has("json") && (line.Has("compare") || line.Has("markdown"))) {
    return WrongUsage(context, "--json: expected without --compare and --markdown");
  }
  if (line.Has("compare")) {
    if (line.arguments.size() != 2) {
      return WrongUsage(
          context, fmt::format("--compare: expected two files, found {}", line.arguments.size()));
    }
    return CompareFiles(context);
  }
  const auto scenarios = ChooseScenarios(line.arguments);
  if (!scenarios) {
    return WrongUsage(context, scenarios.error().message);
  }
  return Measure(context, *scenarios);
}

}  // namespace coli
