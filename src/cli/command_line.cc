#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/human.h"

namespace coli {
namespace {

enum class Arguments : uint8_t { kNone, kAtMostOne, kOne, kAny };

struct VerbSpec {
  std::string_view name;
  uint16_t verb;  // whose options; 0: none
  Command command;
  Arguments arguments;
  std::string_view argument;  // its name in help
  std::string_view argument_help;
  std::string_view summary;
  std::string_view description;
};

constexpr auto kVerbs = std::to_array<VerbSpec>({
    {"chat", kChatVerb, Command::kChat, Arguments::kNone, "", "", "talk with the model",
     "Talk with the model. Ctrl-C stops an answer, Ctrl-D leaves, :help shows what else there is."},
    {"run", kRunVerb, Command::kRun, Arguments::kAtMostOne, "PROMPT",
     "What to answer; - reads standard input.", "answer one prompt",
     "Answer one prompt. Standard output is the answer and nothing else. Without PROMPT, or with "
     "-, the prompt is read from standard input."},
    {"info", kInfoVerb, Command::kInfo, Arguments::kAtMostOne, "DIR",
     "Directory of a model; goes before --model.", "show model and machine",
     "Show what a model is and what this machine has. Reads no weights."},
    {"plan", kPlanVerb, Command::kPlan, Arguments::kAtMostOne, "DIR",
     "Directory of a model; goes before --model.", "show where memory goes and how fast it will be",
     "Show where every byte of memory would go with these options, whether that fits, and how fast "
     "answers will be. Reads no weights; measures drive and memory for about a second."},
    {"doctor", kDoctorVerb, Command::kDoctor, Arguments::kAtMostOne, "DIR",
     "Directory of a model; goes before --model.", "look for what keeps a model from running well",
     "Check a model directory, its drive and this machine, and say what to do. Reads no weights "
     "but "
     "to measure the drive. Exit status 0 unless something fails."},
    {"estimate", kEstimateVerb, Command::kEstimate, Arguments::kNone, "", "",
     "foretell a model's speed before it is downloaded",
     "Measure this machine for a few seconds and foretell how fast a published model would be, by "
     "the format of its experts and by memory."},
    {"validate", kValidateVerb, Command::kValidate, Arguments::kOne, "DIR",
     "Directory of the fixture.", "compare the engine with a reference",
     "Replay a fixture: a model directory with reference.json and reference.safetensors. Exit "
     "status 0 only when everything agrees."},
    {"ask", kAskVerb, Command::kAsk, Arguments::kOne, "FILE",
     "Prompts with what a right answer contains, one JSON object a line; - reads standard input.",
     "answer a prompt set and count what is right",
     "Answer every prompt of a set, always with the likeliest token, and print the share of right "
     "answers by kind. docs/cli.md describes the file."},
    {"perplexity", kPerplexityVerb, Command::kPerplexity, Arguments::kOne, "FILE",
     "The text, in UTF-8; - reads standard input.", "measure how well a model foretells a text",
     "Print how many bits per byte and per token a model needs for a text: fewer is better. The "
     "text goes through a sliding window of --ctx tokens that moves by --stride."},
    {"synth", kSynthVerb, Command::kSynth, Arguments::kNone, "", "",
     "write a model to measure speed with",
     "Write a model of any size whose weights mean nothing: sizes, formats and statistics are "
     "those "
     "of a real one, so its speed is, too."},
    {"bench", kBenchVerb, Command::kBench, Arguments::kAny, "SCENARIO",
     "What to measure, or the two files of --compare. None: everything.",
     "measure this machine and what limits it",
     "Measure memory, drive, kernels and the engine, each beside what limits it: memory.read, "
     "disk.read, matvec, matmul, moe, attention, prefill, decode, append, neighbour. Options of "
     "the model are for prefill, decode and append. docs/cli.md describes the scenarios and the "
     "figures."},
    {"config", kConfigVerb, Command::kConfigExplain, Arguments::kOne, "explain",
     "The only thing there is.", "show every option and where it comes from",
     "`coli config explain` shows the value of each option and where it came from."},
    {"options", 0, Command::kOptionsMarkdown, Arguments::kNone, "", "", "",
     "Print docs/options.md."},
});

const VerbSpec* FindVerb(std::string_view name) {
  const auto* found = std::find_if(kVerbs.begin(), kVerbs.end(),
                                   [&](const VerbSpec& verb) { return verb.name == name; });
  return found == kVerbs.end() ? nullptr : found;
}

constexpr size_t kHelpIndent = 25;
constexpr size_t kHelpColumns = 54;

// The text in lines of at most `columns`; CLI11 indents what follows a newline.
std::string Wrapped(std::string_view text, size_t columns) {
  std::string out;
  while (text.size() > columns) {
    const size_t space = text.rfind(' ', columns);
    const size_t end = space == std::string_view::npos || space == 0 ? columns : space;
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(std::min(end + (end == space ? 1 : 0), text.size()));
  }
  return out += text;
}

// One verb's parser, and which of its options is which.
struct Parser {
  explicit Parser(const VerbSpec& verb)
      : app(Wrapped(verb.description, kHelpIndent + kHelpColumns),
            fmt::format("coli {}", verb.name)) {}
  CLI::App app;
  std::vector<std::pair<const OptionSpec*, CLI::Option*>> options;
  CLI::Option* argument = nullptr;
};

CLI::Option* AddOption(CLI::App& app, const OptionSpec& spec) {
  const std::string letter = spec.letter == 0 ? "" : fmt::format("-{},", spec.letter);
  const std::string names = letter + FlagName(spec);
  if (spec.type == OptionType::kSwitch) {
    return app.add_flag(names)->description(Wrapped(spec.help, kHelpColumns));
  }
  const bool repeats = spec.type == OptionType::kTextList;
  // The table's own parser reads the values, so that flags, file and environment have the same
  // rules and messages.
  CLI::Option* option = app.add_option(
      names, [](const CLI::results_t&) { return true; }, Wrapped(spec.help, kHelpColumns));
  return option->type_name(std::string(spec.value_name))
      ->expected(1)
      ->multi_option_policy(repeats ? CLI::MultiOptionPolicy::TakeAll
                                    : CLI::MultiOptionPolicy::TakeLast);
}

void Build(const VerbSpec& verb, Parser& parser) {
  parser.app.allow_extras();
  parser.app.get_formatter()->column_width(kHelpIndent);
  parser.app.set_help_flag("-h,--help", "Print this help and leave.");
  for (const OptionSpec& spec : OptionTable()) {
    if ((spec.verbs & verb.verb) != 0) {
      CLI::Option* option = AddOption(parser.app, spec);
      option->group(std::string(spec.group));
      parser.options.emplace_back(&spec, option);
    }
  }
  if (verb.command == Command::kOptionsMarkdown) {
    parser.app.add_flag("--markdown");
  }
  if (verb.arguments != Arguments::kNone) {
    parser.argument = parser.app.add_option(
        std::string(verb.argument), [](const CLI::results_t&) { return true; },
        std::string(verb.argument_help));
  }
  if (verb.arguments == Arguments::kAny) {
    parser.argument->expected(CLI::detail::expected_max_vector_size)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else if (verb.arguments != Arguments::kNone) {
    parser.argument->expected(1);
  }
}

// `word` begins with a dash.
std::string UnknownFlagHint(const Parser& parser, std::string_view word) {
  std::vector<std::string_view> known;
  for (const auto& [spec, option] : parser.options) {
    known.push_back(spec->name);
  }
  const std::string_view name = word.substr(word.find_first_not_of('-'));
  const std::string nearest = NearestName(name.substr(0, name.find('=')), known);
  return nearest.empty() ? std::string() : fmt::format(" (did you mean --{}?)", nearest);
}

// Words that are neither options of the verb nor its argument.
Status CheckLeftovers(const VerbSpec& verb, const Parser& parser) {
  std::vector<std::string> rest = parser.app.remaining();
  std::erase(rest, "--");  // it only said that what follows is no flag
  const auto flag = std::find_if(rest.begin(), rest.end(), [](const std::string& word) {
    return word.find_first_not_of('-') > 0;
  });
  if (flag != rest.end()) {
    return Fail(ErrorCode::kInvalidArgument, "unknown option {}{}; see coli {} --help", *flag,
                UnknownFlagHint(parser, *flag), verb.name);
  }
  if (!rest.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "unexpected argument \"{}\"{}; see coli {} --help",
                rest.front(), verb.command == Command::kRun ? " (put the prompt in quotes)" : "",
                verb.name);
  }
  return Ok();
}

Result<std::vector<std::pair<const OptionSpec*, OptionValue>>> ReadFlags(const Parser& parser) {
  std::vector<std::pair<const OptionSpec*, OptionValue>> flags;
  for (const auto& [spec, option] : parser.options) {
    const std::vector<std::string>& words = option->results();
    if (words.empty()) {
      continue;
    }
    COLI_ASSIGN_OR_RETURN(OptionValue value, ParseOption(*spec, words.back(), FlagName(*spec)));
    if (spec->type == OptionType::kTextList) {
      for (const std::string& word : words) {
        COLI_RETURN_IF_ERROR(ParseOption(*spec, word, FlagName(*spec)));
      }
      value = words;
    }
    flags.emplace_back(spec, std::move(value));
  }
  return flags;
}

Result<std::variant<CommandLine, PrintAndLeave>> ParseVerb(const VerbSpec& verb,
                                                           std::span<const std::string> words) {
  Parser parser(verb);
  Build(verb, parser);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order that CLI11 takes
    parser.app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return PrintAndLeave{parser.app.help()};
  } catch (const CLI::ParseError& error) {
    return Fail(ErrorCode::kInvalidArgument, "{}; see coli {} --help", error.what(), verb.name);
  }
  COLI_RETURN_IF_ERROR(CheckLeftovers(verb, parser));
  CommandLine line;
  line.command = verb.command;
  COLI_ASSIGN_OR_RETURN(line.flags, ReadFlags(parser));
  if (parser.argument != nullptr && verb.arguments == Arguments::kAny) {
    line.arguments = parser.argument->results();
  } else if (parser.argument != nullptr && parser.argument->count() > 0) {
    line.argument = parser.argument->results().back();
  }
  if (verb.arguments == Arguments::kOne && !line.argument) {
    return Fail(ErrorCode::kInvalidArgument, "coli {} needs {}; see coli {} --help", verb.name,
                verb.argument, verb.name);
  }
  if (verb.command == Command::kConfigExplain && line.argument != "explain") {
    return Fail(ErrorCode::kInvalidArgument, "coli config: expected explain, found \"{}\"",
                *line.argument);
  }
  return line;
}

tl::unexpected<Error> UnknownVerb(const std::string& name) {
  std::vector<std::string_view> names = {"help"};
  std::transform(kVerbs.begin(), kVerbs.end(), std::back_inserter(names),
                 [](const VerbSpec& verb) { return verb.name; });
  const std::string nearest = NearestName(name, names);
  return Fail(ErrorCode::kInvalidArgument, "unknown verb \"{}\"{}; see coli help", name,
              nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest));
}

}  // namespace

bool CommandLine::Has(std::string_view flag) const {
  const OptionValue* value = Find(flag);
  const bool* on = value == nullptr ? nullptr : std::get_if<bool>(value);
  return on != nullptr && *on;
}

std::optional<std::string> CommandLine::Text(std::string_view flag) const {
  const OptionValue* value = Find(flag);
  return value == nullptr ? std::nullopt : std::optional(std::get<std::string>(*value));
}

std::optional<uint64_t> CommandLine::Integer(std::string_view flag) const {
  const OptionValue* value = Find(flag);
  return value == nullptr ? std::nullopt : std::optional(std::get<uint64_t>(*value));
}

const OptionValue* CommandLine::Find(std::string_view flag) const {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [&](const auto& entry) { return entry.first->name == flag; });
  return found == flags.end() ? nullptr : &found->second;
}

std::string MainHelp() {
  std::string text =
      "colibri: run a very large model on the computer you own\n\n"
      "Usage: coli VERB [OPTIONS]\n\n";
  for (const VerbSpec& verb : kVerbs) {
    if (!verb.summary.empty()) {
      text += fmt::format("  coli {:<10} {}\n", verb.name, verb.summary);
    }
  }
  return text +
         "\nTry it: coli run \"What is the capital of France?\"\n"
         "Options of a verb: coli VERB --help, or docs/options.md. Version: coli --version\n";
}

Result<std::variant<CommandLine, PrintAndLeave>> ParseCommandLine(
    std::span<const std::string> words) {
  if (words.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "a verb is missing");
  }
  const std::string& first = words.front();
  if (first == "--version" || first == "version") {
    return PrintAndLeave{"coli " COLI_VERSION "\n"};
  }
  if (first == "help" || first == "--help" || first == "-h") {
    if (words.size() == 1 || words[1] == "help" || words[1] == "--help") {
      return PrintAndLeave{MainHelp()};
    }
    const std::vector<std::string> ask = {"--help"};
    const VerbSpec* verb = FindVerb(words[1]);
    return verb != nullptr ? ParseVerb(*verb, ask) : UnknownVerb(words[1]);
  }
  const VerbSpec* verb = FindVerb(first);
  return verb != nullptr ? ParseVerb(*verb, words.subspan(1)) : UnknownVerb(first);
}

}  // namespace coli
