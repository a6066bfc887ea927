#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/human.h"
#include "cli/model_choice.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "synth/synthesize.h"

namespace coli {
namespace {

uint32_t Number(const CommandLine& line, std::string_view flag, uint32_t otherwise) {
  return static_cast<uint32_t>(line.Integer(flag).value_or(otherwise));
}

// The shape that the flags describe. Error: kInvalidArgument for a size of a named shape.
Result<SynthShape> ChooseShape(const CommandContext& context) {
  const CommandLine& line = context.line;
  const std::string name = *context.options.Text("shape");
  const bool custom = name == "custom";
  SynthShape shape = *NamedShape(custom ? "mid" : name);
  for (const char* flag : {"hidden", "inner", "experts", "active", "heads"}) {
    if (!custom && line.Integer(flag)) {
      return Fail(ErrorCode::kInvalidArgument, "--{}: only --shape custom has it, found --shape {}",
                  flag, name);
    }
  }
  shape.hidden_size = Number(line, "hidden", shape.hidden_size);
  shape.moe_intermediate_size = Number(line, "inner", shape.moe_intermediate_size);
  shape.n_routed_experts = Number(line, "experts", shape.n_routed_experts);
  shape.num_experts_per_tok = Number(line, "active", shape.num_experts_per_tok);
  shape.num_attention_heads = Number(line, "heads", shape.num_attention_heads);
  shape.num_hidden_layers = Number(line, "layers", shape.num_hidden_layers);
  if (shape.num_experts_per_tok > shape.n_routed_experts) {
    return Fail(ErrorCode::kInvalidArgument, "--active: expected at most --experts {}, found {}",
                shape.n_routed_experts, shape.num_experts_per_tok);
  }
  return shape;
}

int WrongUsage(CommandContext& context, std::string_view message) {
  context.err.Write(OneLine(fmt::format("coli: {}", message)) + "\n");
  return kExitUsage;
}

// The built-in model's text, so that the new one can read and write.
Status BorrowText(SynthOptions& options) {
  COLI_ASSIGN_OR_RETURN(const ModelChoice built_in, ChooseModel(std::nullopt, ThisExecutable()));
  COLI_ASSIGN_OR_RETURN(const ModelText text, LoadModelText(built_in.directory));
  options.shape.vocab_size = static_cast<uint32_t>(text.tokenizer.vocab_size());
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    options.text_files.push_back(built_in.directory / name);
  }
  return Ok();
}

}  // namespace

Result<int> SynthCommand(CommandContext& context) {
  using Clock = std::chrono::steady_clock;
  const auto out = context.line.Text("out");
  if (!out || out->empty()) {
    return WrongUsage(context, "coli synth needs --out DIR; see coli synth --help");
  }
  const auto shape = ChooseShape(context);
  if (!shape) {
    return WrongUsage(context, shape.error().message);
  }
  SynthOptions options;
  options.shape = *shape;
  options.expert_format = context.line.Text("expert-format").value_or(options.expert_format);
  if (!IsFileFormat(options.expert_format)) {
    return WrongUsage(context, fmt::format("--expert-format: expected a format that files can "
                                           "have, found \"{}\"",
                                           options.expert_format));
  }
  options.sparse = context.line.Has("sparse");
  options.out = *out;
  options.seed = context.line.Integer("seed").value_or(options.seed);
  COLI_RETURN_IF_ERROR(BorrowText(options));
  const SignalWatch signals(SignalWatch::Second::kEndsUs);
  Progress progress(context.notes(), "writing the model", ProgressUnit::kBytes);
  options.progress = [&](uint64_t done, uint64_t total) { progress.Update(done, total); };
  options.cancelled = [&] { return signals.came(); };
  const Clock::time_point start = Clock::now();
  const auto written = Synthesize(options);
  progress.Clear();
  if (!written && written.error().code == ErrorCode::kCancelled) {
    return StatusAfter(signals);
  }
  COLI_RETURN_IF_ERROR(written);
  if (Output* notes = context.notes()) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    notes->Write(OneLine(fmt::format("coli: {}: {} in {}; its answers mean nothing", *out,
                                     FormatBytes(*written), FormatDuration(seconds))) +
                 "\n");
  }
  return kExitOk;
}

}  // namespace coli
