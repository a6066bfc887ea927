#include "measure/scenario.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "measure/weight_set.h"

namespace coli {
namespace {

constexpr size_t kProducts = std::size(kMeasuredFormats) * std::size(kExpertShapes);

constexpr auto kScenarios = std::to_array<Scenario>({
    {"memory.read", "reading memory", MeasureMemoryRead, 2},
    {"disk.read", "reading experts from the drive", MeasureDiskRead, 2},
    {"matvec", "one row with weights from memory", MeasureMatVec, kProducts},
    {"matmul", "16 rows with weights from memory", MeasureMatMul, 2 * kProducts},
    {"moe", "the experts of a layer", MeasureMoe, 2},
    {"attention", "the attention of a layer", MeasureAttention, 2},
    {"prefill", "reading prompts with a model", MeasurePrefill, 2, true},
    {"decode", "writing answers with a model", MeasureDecode, 2, true},
    {"append", "a few tokens behind a long prompt", MeasureAppend, 9, true},
    {"neighbour", "work beside another busy program", MeasureNeighbour, 2},
});

}  // namespace

std::span<const Scenario> AllScenarios() { return kScenarios; }

const Scenario* FindScenario(std::string_view name) {
  const auto* found = std::ranges::find(kScenarios, name, &Scenario::name);
  return found == kScenarios.end() ? nullptr : found;
}

std::string ScenarioNames() {
  std::string names;
  for (const Scenario& scenario : kScenarios) {
    names += names.empty() ? "" : ", ";
    names += scenario.name;
  }
  return names;
}

}  // namespace coli
