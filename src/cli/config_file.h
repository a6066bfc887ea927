// The user's config.toml: a flat table of options.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/environment.h"
#include "cli/options.h"

namespace coli {

// Sets the options of a file with origin kFile. `path` names the file in errors and origins.
// Errors: kCorrupt for text that is no TOML, kInvalidArgument for unknown keys (with the nearest
// known one) and values out of range.
Status ApplyConfigText(std::string_view text, std::string_view path, OptionValues& values);

// Reads the file of the user, if there is one. Errors: as above, and kIo when it cannot be read.
Status ApplyConfigFile(const Environment& environment, OptionValues& values);

// Sets the options found in the environment with origin kEnvironment.
Status ApplyEnvironment(const Environment& environment, OptionValues& values);

}  // namespace coli
