#include "cli/idle_options.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace coli {
namespace {

tl::unexpected<Error> Idle(std::string_view flag, std::string_view why) {
  return Fail(ErrorCode::kInvalidArgument, "--{} cannot act: {}", flag, why);
}

Status ForbidAll(const CommandLine& line, std::initializer_list<std::string_view> flags,
                 std::string_view why) {
  for (const std::string_view flag : flags) {
    if (line.Find(flag) != nullptr) {
      return Idle(flag, why);
    }
  }
  return Ok();
}

// Whether somebody, and not the table or a model, chose to always take the likeliest token.
bool IsGreedy(const OptionValues& options) {
  const OptionValues::Entry* temperature = options.Find("temp");
  return temperature != nullptr && temperature->origin >= Origin::kFile &&
         std::get<double>(temperature->value) == 0;
}

Status CheckSampling(const CommandLine& line, const OptionValues& options) {
  if (!IsGreedy(options)) {
    return Ok();
  }
  constexpr std::string_view kWhy =
      "--temp 0 always takes the likeliest token; leave one of the two out";
  COLI_RETURN_IF_ERROR(ForbidAll(line, {"seed"}, kWhy));
  // 0, 1 and 0 switch these off, which is right beside --temp 0.
  if (line.Find("top-k") != nullptr && options.Integer("top-k") != 0) {
    return Idle("top-k", kWhy);
  }
  if (line.Find("top-p") != nullptr && options.Real("top-p") != 1) {
    return Idle("top-p", kWhy);
  }
  return line.Find("min-p") != nullptr && options.Real("min-p") != 0 ? Idle("min-p", kWhy) : Ok();
}

Status CheckRaw(const CommandLine& line) {
  return line.Has("raw") ? ForbidAll(line, {"system", "think"},
                                     "--raw continues the prompt as plain text, without the chat "
                                     "format that it is part of")
                         : Ok();
}

bool RunsAny(const CommandLine& line, std::initializer_list<std::string_view> scenarios) {
  return line.arguments.empty() || std::ranges::any_of(line.arguments, [&](const auto& argument) {
           return std::ranges::find(scenarios, argument) != scenarios.end();
         });
}

Status CheckBench(const CommandLine& line) {
  if (line.Has("compare")) {
    for (const auto& [spec, value] : line.flags) {
      if (spec->name != "compare" && spec->name != "json" && spec->name != "markdown" &&
          spec->name != "quiet") {
        return Idle(spec->name, "--compare measures nothing");
      }
    }
    return Ok();
  }
  if (!RunsAny(line, {"decode"})) {
    COLI_RETURN_IF_ERROR(ForbidAll(line, {"cold"}, "it is for the scenario decode"));
  }
  if (line.Has("cold")) {
    COLI_RETURN_IF_ERROR(
        ForbidAll(line, {"model-mirror"}, "--cold sets the engine beside one drive"));
  }
  if (!RunsAny(line, {"prefill", "decode", "append"})) {
    COLI_RETURN_IF_ERROR(ForbidAll(
        line,
        {"ctx", "cache-experts", "cache-policy", "lookahead", "io", "direct", "model-mirror",
         "expert-format", "dense-format", "prefill-chunk", "attention", "latent-norm-eps"},
        "it is for the scenarios prefill, decode and append"));
  }
  if (!RunsAny(line, {"prefill", "decode", "append", "disk.read"})) {
    COLI_RETURN_IF_ERROR(ForbidAll(
        line, {"model"}, "it is for the scenarios prefill, decode, append and disk.read"));
  }
  if (!RunsAny(line, {"prefill", "decode", "append", "attention"})) {
    COLI_RETURN_IF_ERROR(
        ForbidAll(line, {"kv"}, "it is for the scenarios prefill, decode, append and attention"));
  }
  return RunsAny(line, {"disk.read"}) || line.Has("cold")
             ? Ok()
             : ForbidAll(line, {"dir"}, "it is for the scenario disk.read and for --cold");
}

}  // namespace

Status CheckFlagsAct(const CommandLine& line, const OptionValues& options) {
  switch (line.command) {
    case Command::kRun:
      COLI_RETURN_IF_ERROR(CheckRaw(line));
      return CheckSampling(line, options);
    case Command::kChat:
      return CheckSampling(line, options);
    case Command::kBench:
      return CheckBench(line);
    case Command::kInfo:
    case Command::kPlan:
    case Command::kDoctor:
    case Command::kEstimate:
    case Command::kValidate:
    case Command::kAsk:
    case Command::kPerplexity:
    case Command::kSynth:
    case Command::kConfigExplain:
    case Command::kOptionsMarkdown:
      return Ok();
  }
  return Ok();
}

}  // namespace coli
