// The verbs of the program. Each prints its result and gives the exit status; errors travel up and
// are printed by main.
#pragma once

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace coli {

// Exit statuses: 1 is for errors, 2 for wrong usage.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitSignal = 128;  // plus the number of the signal

struct CommandContext {
  CommandLine line;
  OptionValues options;  // of flags, environment, file and defaults
  Environment environment;
  Output out;  // standard output
  Output err;  // standard error

  // Notes, progress and statistics go here: null with --quiet.
  Output* notes() { return options.On("quiet") ? nullptr : &err; }
};

Result<int> RunCommand(CommandContext& context);
Result<int> ChatCommandLoop(CommandContext& context);
Result<int> InfoCommand(CommandContext& context);
Result<int> PlanCommand(CommandContext& context);
Result<int> DoctorCommand(CommandContext& context);
Result<int> EstimateCommand(CommandContext& context);
Result<int> ValidateCommand(CommandContext& context);
Result<int> AskCommand(CommandContext& context);
Result<int> PerplexityCommand(CommandContext& context);
Result<int> SynthCommand(CommandContext& context);
Result<int> BenchCommand(CommandContext& context);
Result<int> ConfigExplainCommand(CommandContext& context);

// The exit status of a command that did what it could before a signal came, if one did.
int StatusAfter(const SignalWatch& signals);

// The whole program: parses, runs, prints errors as "coli: ..." on standard error.
int RunProgram(int argument_count, char** arguments);

}  // namespace coli
