#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/settings.h"
#include "engine/validate.h"

namespace coli {
namespace {

template <class T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson CaseJson(const CaseReport& report, bool with_layers) {
  OrderedJson json = {{"name", report.name},
                      {"positions", report.positions},
                      {"matches", report.matches},
                      {"greedy_tokens", OrNull(report.greedy_tokens)},
                      {"greedy_matches", OrNull(report.greedy_matches)},
                      {"mtp_positions", OrNull(report.mtp_positions)},
                      {"mtp_matches", OrNull(report.mtp_matches)},
                      {"max_logit_error_over_range", report.max_logit_error_over_range},
                      {"logits_hash", report.logits_hash},
                      {"first_mismatch", OrNull(report.first_mismatch)}};
  if (with_layers) {
    OrderedJson& layers = json["layers"] = OrderedJson::array();
    for (const CaseReport::LayerError& layer : report.layers) {
      layers.push_back({{"layer", layer.layer}, {"error_over_range", layer.error_over_range}});
    }
  }
  return json;
}

std::string ReportJson(const ValidationReport& report, bool with_layers) {
  OrderedJson cases = OrderedJson::array();
  for (const CaseReport& one : report.cases) {
    cases.push_back(CaseJson(one, with_layers));
  }
  const OrderedJson json = {{"ok", report.ok}, {"cases", std::move(cases)}};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string CaseText(const CaseReport& report, double tolerance) {
  std::string text = fmt::format("{} {}: {} of {} positions", report.ok ? "ok    " : "FAILED",
                                 report.name, report.matches, report.positions);
  if (report.greedy_tokens) {
    text +=
        fmt::format(", greedy {} of {}", report.greedy_matches.value_or(0), *report.greedy_tokens);
  }
  if (report.mtp_positions) {
    text += fmt::format(", MTP {} of {}", report.mtp_matches.value_or(0), *report.mtp_positions);
  }
  text += fmt::format(", largest error {:.2e} of the range (allowed {:.2e}), logits {}",
                      report.max_logit_error_over_range, tolerance, report.logits_hash);
  if (report.first_mismatch) {
    text += fmt::format(", first mismatch at position {}", *report.first_mismatch);
  }
  text += '\n';
  for (const CaseReport::LayerError& layer : report.layers) {
    text += fmt::format("         after layer {}: error {:.2e} of the range\n", layer.layer,
                        layer.error_over_range);
  }
  return text;
}

}  // namespace

Result<int> ValidateCommand(CommandContext& context) {
  const bool layers = context.line.Has("layers");
  COLI_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(context.line.argument, {}));
  COLI_ASSIGN_OR_RETURN(
      const ValidationReport report, LoadShown(context, [&](const auto& progress) {
        return Validate(MakeEngineOptions(context.options, choice.directory), layers, progress);
      }));
  NoteNotices(context, report.notices);
  if (context.line.Has("json")) {
    context.out.Write(ReportJson(report, layers));
  } else {
    for (const CaseReport& one : report.cases) {
      context.out.Write(Harmless(CaseText(one, report.tolerance)));
    }
    context.out.Write(report.ok ? "Everything agrees with the reference.\n"
                                : "The engine differs from the reference.\n");
  }
  return report.ok ? kExitOk : kExitFailed;
}

}  // namespace coli
