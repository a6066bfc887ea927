// What `coli plan` and `coli estimate` say about speed.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "engine/model_facts.h"
#include "measure/speed_estimate.h"

namespace coli {

// "21.4 GB/s".
std::string FormatSpeed(double bytes_per_s);

// What is asked about a plan with the options of the command.
SpeedQuestion QuestionOf(const CommandContext& context, const ModelFacts& facts,
                         const MemoryPlan& plan);

// Of all experts, those that fit.
double CachedShare(const PlanInputs& inputs, const MemoryPlan& plan);

// Lines of what was measured. `drive_note`: why the drive's speed is not known.
std::string SpeedRows(const MachineSpeed& speed, const std::string& drive_note);
// And of what follows.
std::string EstimateRows(const SpeedEstimate& estimate, const SpeedQuestion& question);

OrderedJson SpeedJson(const SpeedEstimate& estimate, const MachineSpeed& speed);

}  // namespace coli
