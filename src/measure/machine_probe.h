// What EstimateSpeed asks about a machine, each measured in a fraction of a second.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "measure/session.h"
#include "measure/speed_estimate.h"
#include "tensor/format_id.h"

namespace coli {

// Multiply-adds of 16 rows together with weights in `format`, of all threads in a second.
Result<double> MultiplyAddsPerSecond(BenchSession& session, Format format);

// Plain random reads of whole experts, whose figures the session also keeps as results: of the
// model's files, or of a file made in the scratch directory if one is named. Errors: those of
// MeasureDiskRead; kCancelled.
Result<double> DriveBytesPerSecond(BenchSession& session);

// Memory, and the products of every format in `multiply_adds` (as ModelCost names them). The
// drive's speed stays unknown.
Result<MachineSpeed> ProbeMachine(BenchSession& session,
                                  const std::map<std::string, double>& multiply_adds);

}  // namespace coli
