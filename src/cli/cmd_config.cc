#include "cli/commands.h"
#include "cli/settings.h"

namespace coli {

Result<int> ConfigExplainCommand(CommandContext& context) {
  // The model's own defaults count only if there is a model; without one the rest is still worth
  // knowing.
  if (const auto choice = ChooseModel(context.options.Text("model"), ThisExecutable())) {
    if (const auto config = LoadModelConfig(choice->directory)) {
      ApplyModelDefaults(*config, context.options);
    }
  }
  context.out.Write(Harmless(ExplainOptions(context.options)));
  return kExitOk;
}

}  // namespace coli
