// The words after `coli`: a verb, its arguments and its flags.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace coli {

enum class Command : uint8_t {
  kRun,
  kChat,
  kInfo,
  kPlan,
  kDoctor,
  kEstimate,
  kValidate,
  kAsk,
  kPerplexity,
  kSynth,
  kBench,
  kConfigExplain,
  kOptionsMarkdown
};

struct CommandLine {
  Command command = Command::kRun;
  std::optional<std::string>
      argument;  // run: the prompt; info, plan, doctor, validate: the directory;
                 // ask, perplexity: the file
  std::vector<std::string> arguments;  // of verbs that take any number. bench: scenarios, files
  std::vector<std::pair<const OptionSpec*, OptionValue>> flags;

  bool Has(std::string_view flag) const;  // a switch that belongs to this call
  std::optional<std::string> Text(std::string_view flag) const;  // a text that belongs to this call
  std::optional<uint64_t> Integer(std::string_view flag) const;
  const OptionValue* Find(std::string_view flag) const;  // nullptr: not given
};

// Help or the version was asked for: print this and be done.
struct PrintAndLeave {
  std::string text;
};

// Errors: kInvalidArgument, always the user's words; unknown flags and verbs come with the nearest
// known one.
Result<std::variant<CommandLine, PrintAndLeave>> ParseCommandLine(
    std::span<const std::string> words);

// What `coli help` prints.
std::string MainHelp();

}  // namespace coli
