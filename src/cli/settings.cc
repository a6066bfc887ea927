#include "cli/settings.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <random>
#include <system_error>
#include <utility>

#include "cli/human.h"

namespace coli {
namespace {

void Note(CommandContext& context, const std::string& text) {
  if (Output* notes = context.notes()) {
    notes->Write("coli: " + Harmless(text) + "\n");
  }
}

// The state directory, empty for none. It must not be in the model's, which may be read-only,
// shared or thrown away.
Result<std::filesystem::path> StateOutside(const std::filesystem::path& model,
                                           const CommandContext& context) {
  const auto state = StateDirectory(context);
  if (!state) {
    return std::filesystem::path();
  }
  std::error_code ignored;
  const auto inner = std::filesystem::weakly_canonical(*state, ignored);
  const auto outer = std::filesystem::weakly_canonical(model, ignored);
  const auto end = std::ranges::mismatch(outer, inner).in1;
  if (!outer.empty() && end == outer.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--state-dir: expected a directory outside the model's, found {}", state->string());
  }
  return *state;
}

// The double that is written like this float: 0.7, not 0.699999988.
double AsWritten(float number) {
  const std::string text = fmt::format("{}", number);
  double value = number;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The value that goes with the text of option `name`; the first one where it is not set.
template <class T>
T ChoiceOf(const OptionValues& options, const char* name,
           std::initializer_list<std::pair<std::string_view, T>> choices) {
  const auto text = options.Text(name);
  const auto* found = std::ranges::find_if(choices, [&](const auto& c) { return text == c.first; });
  return found == choices.end() ? choices.begin()->second : found->second;
}

}  // namespace

EngineOptions MakeEngineOptions(const OptionValues& options,
                                const std::filesystem::path& model_dir) {
  EngineOptions engine;
  engine.model_dir = model_dir;
  engine.isa = options.Text("isa").value_or(engine.isa);
  engine.threads = static_cast<uint32_t>(options.Integer("threads").value_or(0));
  engine.ram_bytes = options.Integer("ram").value_or(0);
  if (const auto experts = options.Integer("cache-experts")) {
    engine.cache_experts = static_cast<uint32_t>(*experts);
  }
  engine.cache_policy = options.Text("cache-policy").value_or(engine.cache_policy);
  engine.lookahead = options.Text("lookahead") != "off";
  engine.expert_format = options.Text("expert-format").value_or(engine.expert_format);
  engine.dense_format = options.Text("dense-format").value_or(engine.dense_format);
  engine.context = static_cast<uint32_t>(options.Integer("ctx").value_or(0));
  engine.prefill_chunk =
      static_cast<uint32_t>(options.Integer("prefill-chunk").value_or(engine.prefill_chunk));
  engine.attention =
      options.Text("attention") == "explicit" ? AttentionForm::kExplicit : AttentionForm::kAbsorbed;
  engine.kv = options.Text("kv") == "bf16" ? FormatId::kBf16 : FormatId::kF32;
  engine.io = ChoiceOf<IoKind>(
      options, "io",
      {{"auto", IoKind::kAuto}, {"uring", IoKind::kUring}, {"threads", IoKind::kThreads}});
  engine.direct = ChoiceOf<DirectMode>(
      options, "direct",
      {{"auto", DirectMode::kAuto}, {"on", DirectMode::kOn}, {"off", DirectMode::kOff}});
  for (const std::string& directory : options.List("model-mirror")) {
    if (directory != "none") {
      engine.mirrors.emplace_back(directory);
    }
  }
  if (const auto eps = options.Real("latent-norm-eps")) {
    engine.latent_norm_eps = static_cast<float>(*eps);
  }
  engine.trace_routing = options.Text("trace-routing").value_or("");
  return engine;
}

void ApplyModelDefaults(const ModelConfig& config, OptionValues& options) {
  const auto set = [&](const char* name, OptionValue value) {
    options.Set(*FindOption(name), std::move(value), Origin::kModel, "generation_config.json");
  };
  if (config.temperature) {
    set("temp", AsWritten(*config.temperature));
  }
  if (config.top_p) {
    set("top-p", AsWritten(*config.top_p));
  }
  if (config.top_k) {
    set("top-k", uint64_t{*config.top_k});
  }
}

uint64_t RandomSeed() { return std::random_device()(); }

SamplingOptions MakeSampling(const OptionValues& options) {
  SamplingOptions sampling;
  sampling.temperature = static_cast<float>(options.Real("temp").value_or(0));
  sampling.top_k = static_cast<uint32_t>(options.Integer("top-k").value_or(0));
  sampling.top_p = static_cast<float>(options.Real("top-p").value_or(1));
  sampling.min_p = static_cast<float>(options.Real("min-p").value_or(0));
  const auto seed = options.Integer("seed");
  sampling.seed = seed ? *seed : RandomSeed();
  return sampling;
}

GenerationRequest OpenModel::Request(const OptionValues& options,
                                     std::vector<TokenId> prompt) const {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampling = MakeSampling(options);
  request.max_tokens = static_cast<uint32_t>(options.Integer("max-tokens").value_or(0));
  request.stop_tokens = stop_tokens;
  return request;
}

Result<ChosenModel> ChooseModelOf(CommandContext& context) {
  COLI_ASSIGN_OR_RETURN(ModelChoice choice,
                        ChooseModel(context.options.Text("model"), ThisExecutable()));
  if (choice.built_in) {
    Note(context, "using the small built-in model; name another with --model DIR");
  }
  COLI_ASSIGN_OR_RETURN(ModelText text, LoadModelText(choice.directory));
  return ChosenModel{std::move(choice.directory), std::move(text)};
}

void NoteWarnings(CommandContext& context, const ModelConfig& config) {
  for (const std::string& warning : config.warnings) {
    Note(context, "note: " + warning);
  }
}

std::string ModeText(const EngineMode& mode) {
  return fmt::format("{}; {} in all, room for {} of {} experts; {} thread{}, {}", mode.io,
                     FormatBytes(mode.budget_bytes), mode.fitting_experts, mode.experts,
                     mode.threads, mode.threads == 1 ? "" : "s", mode.isa);
}

void NoteMode(CommandContext& context, const EngineMode& mode) {
  Note(context, "mode: " + ModeText(mode));
}

std::optional<std::filesystem::path> StateDirectory(const CommandContext& context) {
  const auto named = context.options.Text("state-dir");
  if (!named) {
    return StateFolder(context.environment);
  }
  return *named == "none" ? std::nullopt : std::optional<std::filesystem::path>(*named);
}

void NoteNotices(CommandContext& context, const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) {
    Note(context, "note: " + notice);
  }
}

std::string WarmingText(const Warming& warming) {
  constexpr uint32_t kNoLimit = 200;
  return warming.over()
             ? std::string()
             : ProgressLine("warming", warming.done_bytes, warming.total_bytes,
                            SecondsLeft(warming.done_bytes, warming.total_bytes, warming.seconds),
                            ProgressUnit::kBytes, kNoLimit);
}

void EndModel(CommandContext& context, const OpenModel& model) {
  model.engine->Stop();
  NoteNotices(context, model.engine->TakeNotices());
}

Result<OpenModel> LoadChosenModel(CommandContext& context, const LoadOptions& load) {
  COLI_ASSIGN_OR_RETURN(ChosenModel chosen, ChooseModelOf(context));
  EngineOptions options = MakeEngineOptions(context.options, chosen.directory);
  options.max_sequences = load.sequences;
  if (options.ram_bytes != 0) {  // 0: not named
    options.ram_bytes -= std::min(options.ram_bytes - 1, load.held_bytes);
  }
  if (load.learns) {
    COLI_ASSIGN_OR_RETURN(options.state_dir, StateOutside(chosen.directory, context));
  }
  COLI_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                        LoadShown(context, [&](const Engine::Progress& progress) {
                          return Engine::Create(options, progress);
                        }));
  NoteMode(context, engine->mode());
  NoteWarnings(context, engine->config());
  NoteNotices(context, engine->TakeNotices());
  ApplyModelDefaults(engine->config(), context.options);
  std::vector<TokenId> stop_tokens = chosen.text.format.StopIds(chosen.text.tokenizer);
  return OpenModel{std::move(chosen.directory), std::move(chosen.text), std::move(engine),
                   std::move(stop_tokens)};
}

}  // namespace coli
