#include "cli/speed_text.h"

#include <nlohmann/json.hpp>

#include "cli/human.h"

namespace coli {

std::string FormatSpeed(double bytes_per_s) {
  constexpr double kGigabyte = 1e9;
  return fmt::format("{:.3g} GB/s", bytes_per_s / kGigabyte);
}

double CachedShare(const PlanInputs& inputs, const MemoryPlan& plan) {
  return inputs.expert_bytes == 0 ? 1
                                  : static_cast<double>(plan.resident_bytes()) /
                                        static_cast<double>(inputs.expert_bytes);
}

SpeedQuestion QuestionOf(const CommandContext& context, const ModelFacts& facts,
                         const MemoryPlan& plan) {
  SpeedQuestion question;
  question.cached_share = CachedShare(facts.inputs, plan);
  question.routing =
      context.options.Text("routing") == "uniform" ? Routing::kUniform : Routing::kText;
  question.prompt_tokens =
      static_cast<uint32_t>(context.options.Integer("prompt-tokens").value_or(0));
  question.slice_rows = plan.prefill_rows;
  return question;
}

std::string SpeedRows(const MachineSpeed& speed, const std::string& drive_note) {
  return FactLine("memory", FormatSpeed(speed.memory_bytes) + " read by all threads") +
         FactLine("drive", drive_note.empty()
                               ? FormatSpeed(speed.drive_bytes) + " read as experts, at random"
                               : "not measured: " + drive_note);
}

std::string EstimateRows(const SpeedEstimate& estimate, const SpeedQuestion& question) {
  const std::string slowest = FormatRate(estimate.slowest, 1);
  const std::string fastest = FormatRate(estimate.fastest, 1);
  std::string text =
      FactLine("answers",
               fmt::format("{}{}, limited by {}", FormatRate(estimate.expected, 1),
                           slowest == fastest ? "" : fmt::format(" ({} to {})", slowest, fastest),
                           NameOf(estimate.limit))) +
      FactLine("hits", fmt::format("{:.0f} % of the experts of a token are in memory",
                                   100 * estimate.hit_rate));
  if (estimate.first_token_s) {
    text += FactLine("first token",
                     fmt::format("after {} for a prompt of {} tokens, nothing in memory yet",
                                 FormatDuration(*estimate.first_token_s), question.prompt_tokens));
  }
  return text;
}

OrderedJson SpeedJson(const SpeedEstimate& estimate, const MachineSpeed& speed) {
  OrderedJson json = {{"memory_bytes_per_second", speed.memory_bytes},
                      {"drive_bytes_per_second", nullptr},
                      {"hit_rate", estimate.hit_rate},
                      {"tokens_per_second", estimate.expected},
                      {"slowest_tokens_per_second", estimate.slowest},
                      {"fastest_tokens_per_second", estimate.fastest},
                      {"limit", NameOf(estimate.limit)},
                      {"first_token_seconds", nullptr}};
  if (speed.drive_bytes > 0) {
    json["drive_bytes_per_second"] = speed.drive_bytes;
  }
  if (estimate.first_token_s) {
    json["first_token_seconds"] = *estimate.first_token_s;
  }
  return json;
}

}  // namespace coli
