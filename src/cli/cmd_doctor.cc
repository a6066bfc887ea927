#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/settings.h"
#include "doctor/checks.h"
#include "doctor/look_machine.h"
#include "doctor/look_model.h"
#include "measure/machine_probe.h"

namespace coli {
namespace {

Result<double> MeasureDrive(EngineOptions options) {
  options.ram_bytes = 0;  // what measuring takes is given back
  COLI_ASSIGN_OR_RETURN(BenchSession session, BenchSession::Create({.engine = std::move(options),
                                                                    .model_name = {},
                                                                    .scratch_dir = {},
                                                                    .quick = true,
                                                                    .cancelled = {},
                                                                    .progress = {}}));
  return DriveBytesPerSecond(session);
}

Result<DoctorFacts> Look(const CommandContext& context, const EngineOptions& options) {
  DoctorFacts facts;
  COLI_ASSIGN_OR_RETURN(facts.machine, LookAtMachine(options.isa));
  facts.model = LookAtModel(options);
  facts.drive = LookAtDrive(options.model_dir, SomeWeightsFile(options.model_dir));
  facts.drive.read_bytes_per_s = MeasureDrive(options);
  if (const auto directory = StateDirectory(context)) {
    facts.state = LookAtState(*directory);
  }
  return facts;
}

std::string FindingsText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<5} {:<16} {}\n", NameOf(finding.verdict), finding.check, finding.found);
    if (!finding.advice.empty()) {
      text += fmt::format("{:<22} -> {}\n", "", finding.advice);
    }
  }
  return text;
}

std::string FindingsJson(const std::vector<Finding>& findings, bool good) {
  OrderedJson checks = OrderedJson::array();
  for (const Finding& finding : findings) {
    checks.push_back({{"check", finding.check},
                      {"verdict", NameOf(finding.verdict)},
                      {"found", finding.found},
                      {"advice", finding.advice}});
  }
  const OrderedJson json = {{"ok", good}, {"checks", std::move(checks)}};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// The directory as it is named: one that is no model is what the doctor is for.
Result<std::filesystem::path> DirectoryOf(const CommandContext& context) {
  const auto named = context.line.argument ? context.line.argument : context.options.Text("model");
  if (named) {
    return *named;
  }
  COLI_ASSIGN_OR_RETURN(ModelChoice built_in, ChooseModel(std::nullopt, ThisExecutable()));
  return std::move(built_in.directory);
}

}  // namespace

Result<int> DoctorCommand(CommandContext& context) {
  COLI_ASSIGN_OR_RETURN(const std::filesystem::path directory, DirectoryOf(context));
  COLI_ASSIGN_OR_RETURN(const DoctorFacts facts,
                        Look(context, MakeEngineOptions(context.options, directory)));
  const std::vector<Finding> findings = Examine(facts);
  const bool good = std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.verdict == Verdict::kFail; });
  context.out.Write(context.line.Has("json") ? FindingsJson(findings, good)
                                             : Harmless(FindingsText(findings)));
  return good ? kExitOk : kExitFailed;
}

}  // namespace coli
