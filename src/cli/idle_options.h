// Flags that were given for a call in which they cannot act. Pure.
#pragma once

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/options.h"

namespace coli {

// Only flags are judged: the configuration file and the environment are for all calls, and serve
// those that can use them. Error: kInvalidArgument with flag, reason and what to do.
Status CheckFlagsAct(const CommandLine& line, const OptionValues& options);

}  // namespace coli
