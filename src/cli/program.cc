#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/idle_options.h"
#include "cli/interrupt.h"

namespace coli {
namespace {

ColorChoice ReadColorChoice(const OptionValues& options) {
  const std::string choice = options.Text("color").value_or("auto");
  return choice == "always"  ? ColorChoice::kAlways
         : choice == "never" ? ColorChoice::kNever
                             : ColorChoice::kAuto;
}

Result<OptionValues> CollectOptions(const CommandLine& line, const Environment& environment) {
  OptionValues values;
  COLI_RETURN_IF_ERROR(ApplyConfigFile(environment, values));
  COLI_RETURN_IF_ERROR(ApplyEnvironment(environment, values));
  for (const auto& [spec, value] : line.flags) {
    values.Set(*spec, value, Origin::kFlag, FlagName(*spec));
  }
  COLI_RETURN_IF_ERROR(CheckFlagsAct(line, values));
  return values;
}

Result<int> Dispatch(CommandContext& context) {
  switch (context.line.command) {
    case Command::kRun:
      return RunCommand(context);
    case Command::kChat:
      return ChatCommandLoop(context);
    case Command::kInfo:
      return InfoCommand(context);
    case Command::kPlan:
      return PlanCommand(context);
    case Command::kDoctor:
      return DoctorCommand(context);
    case Command::kEstimate:
      return EstimateCommand(context);
    case Command::kValidate:
      return ValidateCommand(context);
    case Command::kAsk:
      return AskCommand(context);
    case Command::kPerplexity:
      return PerplexityCommand(context);
    case Command::kSynth:
      return SynthCommand(context);
    case Command::kBench:
      return BenchCommand(context);
    case Command::kConfigExplain:
      return ConfigExplainCommand(context);
    case Command::kOptionsMarkdown:
      context.out.Write(OptionsMarkdown());
      return kExitOk;
  }
  return kExitUsage;
}

// A full disk must not look like success; a reader that had enough is none of our business.
int CheckWritten(const Output& out, Output& err, int status) {
  if (out.usable() || out.error() == EPIPE) {
    return status;
  }
  err.Write(
      fmt::format("coli: standard output: {}\n", std::generic_category().message(out.error())));
  return kExitFailed;
}

int PrintError(const Error& error, int status, Output& err) {
  err.Write("coli: " + OneLine(error.message) + "\n");
  return status;
}

// Descriptors that our parent closed: otherwise the next file that is opened would get such a
// number and be read as the conversation or overwritten with the answer. The wrong direction is
// meant: using them stays an error (EBADF).
void OccupyStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      // The lowest free number is this one.
      ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

int Execute(const std::vector<std::string>& words, const Environment& environment) {
  Output err(STDERR_FILENO, InspectTerminal(STDERR_FILENO, environment, ColorChoice::kAuto));
  auto parsed = ParseCommandLine(words);
  if (!parsed) {
    const int status = PrintError(parsed.error(), kExitUsage, err);
    if (words.empty()) {
      err.Write("\n" + MainHelp());
    }
    return status;
  }
  if (const auto* print = std::get_if<PrintAndLeave>(&*parsed)) {
    Output out(STDOUT_FILENO, {});
    out.Write(print->text);
    return CheckWritten(out, err, kExitOk);
  }
  CommandLine& line = std::get<CommandLine>(*parsed);
  auto options = CollectOptions(line, environment);
  if (!options) {
    return PrintError(options.error(), kExitUsage, err);
  }
  const ColorChoice color = ReadColorChoice(*options);
  CommandContext context{std::move(line), *std::move(options), environment,
                         Output(STDOUT_FILENO, InspectTerminal(STDOUT_FILENO, environment, color)),
                         Output(STDERR_FILENO, InspectTerminal(STDERR_FILENO, environment, color))};
  const auto status = Dispatch(context);
  return CheckWritten(context.out, context.err,
                      status ? *status : PrintError(status.error(), kExitFailed, context.err));
}

}  // namespace

int StatusAfter(const SignalWatch& signals) {
  if (signals.termination() != 0) {
    return kExitSignal + signals.termination();
  }
  return signals.interrupted() ? kExitInterrupted : kExitOk;
}

int RunProgram(int argument_count, char** arguments) {
  OccupyStandardDescriptors();
  IgnoreSignalsOfWrites();
  try {
    return Execute(std::vector<std::string>(arguments + (argument_count > 0 ? 1 : 0),
                                            arguments + argument_count),
                   ProcessEnvironment());
  } catch (
      const std::exception& exception) {  // out of memory, mostly: nothing else throws this far
    Output(STDERR_FILENO, {}).Write(fmt::format("coli: {}\n", exception.what()));
    return kExitFailed;
  }
}

}  // namespace coli
