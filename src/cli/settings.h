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
  ModelText text;
  std::unique_ptr<Engine> engine;
  std::vector<TokenId> stop_tokens;  // the family's role markers

  // A request for `prompt` with the options of the command.
  GenerationRequest Request(const OptionValues& options, std::vector<TokenId> prompt) const;
};

// Chooses, announces and loads the model of --model, and takes its defaults into the options.
Result<OpenModel> LoadChosenModel(CommandContext& context);

}  // namespace coli
