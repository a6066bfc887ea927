#include "measure/measurement.h"

#include <fmt/core.h>

#include <algorithm>

namespace coli {

std::string ValueText(const Parameter& value) {
  return std::visit([](const auto& shown) { return fmt::format("{}", shown); }, value);
}

std::string ParametersText(const Parameters& params) {
  std::string text;
  for (const auto& [name, value] : params) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, ValueText(value));
  }
  return text;
}

double Runs::best() const { return speeds_.empty() ? 0 : std::ranges::max(speeds_); }

double Runs::spread() const {
  if (!(best() > 0)) {
    return 0;
  }
  std::vector<double> sorted = speeds_;
  std::ranges::sort(sorted);
  const size_t middle = sorted.size() / 2;
  const double median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return 1 - median / best();
}

Measurement Summarize(std::string scenario, Parameters params, std::string unit, const Runs& runs) {
  return {.scenario = std::move(scenario),
          .params = std::move(params),
          .value = runs.best(),
          .unit = std::move(unit),
          .limit = {},
          .share_of_limit = {},
          .runs = runs.count(),
          .spread = runs.spread()};
}

Measurement Summarize(std::string scenario, Parameters params, std::string unit, const Runs& runs,
                      std::string limit, const Runs& limits) {
  Measurement measurement =
      Summarize(std::move(scenario), std::move(params), std::move(unit), runs);
  if (limits.best() > 0) {
    measurement.limit = {std::move(limit), limits.best(), measurement.unit};
    measurement.share_of_limit = measurement.value / limits.best();
  }
  return measurement;
}

}  // namespace coli
