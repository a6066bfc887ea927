// Options as the engine and the sampler take them, and a model opened with them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/conversation.h"
#include "cli/model_choice.h"
#include "cli/progress.h"
#include "engine/engine.h"

namespace coli {

EngineOptions MakeEngineOptions(const OptionValues& options,
                                const std::filesystem::path& model_dir);

// Puts what generation_config.json says into options that nobody set.
void ApplyModelDefaults(const ModelConfig& config, OptionValues& options);

// A seed that nobody chose; small enough to be typed.
uint64_t RandomSeed();

// Sampling as the options say; without --seed with a random one.
SamplingOptions MakeSampling(const OptionValues& options);

// A model ready to answer. Neither copied nor moved once conversations refer to its text.
struct OpenModel {
  std::filesystem::path directory;
  ModelText text;
  std::unique_ptr<Engine> engine;
  std::vector<TokenId> stop_tokens;  // the family's role markers

  // A request for `prompt` with the options of the command.
  GenerationRequest Request(const OptionValues& options, std::vector<TokenId> prompt) const;
};

// The model of --model before its weights: announced, its text files read.
struct ChosenModel {
  std::filesystem::path directory;
  ModelText text;
};
Result<ChosenModel> ChooseModelOf(CommandContext& context);

// Runs `load` with a progress function (Engine::Progress) that shows a line.
template <class Load>
auto LoadShown(CommandContext& context, const Load& load) {
  Progress progress(context.notes(), "loading the model", ProgressUnit::kBytes);
  return load([&](uint64_t done, uint64_t total) { progress.Update(done, total); });
}

// Shows what the configuration of a model warns about.
void NoteWarnings(CommandContext& context, const ModelConfig& config);

// Chooses, announces and loads the model of --model, and takes its defaults into the options.
// `sequences`: answers at the same time.
Result<OpenModel> LoadChosenModel(CommandContext& context, uint32_t sequences = 1);

}  // namespace coli
