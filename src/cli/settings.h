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

// Says how the model runs.
void NoteMode(CommandContext& context, const EngineMode& mode);
// "io_uring, direct; 20.0 GiB in all, room for 900 of 19200 experts; 8 threads, avx2".
std::string ModeText(const EngineMode& mode);

// Where colibri keeps what is its own: --state-dir, or its folder of the user. Nothing: "none", or
// a user without a home.
std::optional<std::filesystem::path> StateDirectory(const CommandContext& context);

struct LoadOptions {
  uint32_t sequences = 1;   // answers at the same time
  uint64_t held_bytes = 0;  // of --ram, that the prompts take
  bool learns = false;      // from the model's use, in StateDirectory
};

// Chooses, announces and loads the model of --model, and takes its defaults into the options.
// Errors: as Engine::Create; kInvalidArgument for a state directory inside the model's.
Result<OpenModel> LoadChosenModel(CommandContext& context, const LoadOptions& load = {});

// "warming: 26 %, 3.10 GiB of 12.0 GiB, 40 s left"; empty when there is nothing to warm any more.
std::string WarmingText(const Warming& warming);

// Ends the engine and tells what it had to tell.
void EndModel(CommandContext& context, const OpenModel& model);
// Tells what an engine or a model had to tell (TakeNotices).
void NoteNotices(CommandContext& context, const std::vector<std::string>& notices);

// What a prompt takes while it is answered: its text, the messages in it and their tokens.
inline constexpr uint64_t kBytesPerPromptByte = 3;

}  // namespace coli
