// Looks at this machine for `coli doctor`.
#pragma once

#include <filesystem>
#include <string>

#include "doctor/facts.h"

namespace coli {

// `isa`: a name that SelectKernels knows. `root` is where proc/ and sys/ are looked for. Errors: an
// instruction set that this machine lacks.
Result<MachineFacts> LookAtMachine(const std::string& isa, const std::filesystem::path& root = "/");

// The drive of `directory`, all but its speed. A file of it shows whether reads can be direct.
DriveFacts LookAtDrive(const std::filesystem::path& directory,
                       const std::filesystem::path& file_of_it);

// Whether files can be made in `directory`, or in the nearest one above it that exists.
StateFacts LookAtState(const std::filesystem::path& directory);

// "always", "madvise" or "never", of a text like "always [madvise] never"; empty: none is chosen.
std::string ChosenWord(std::string_view text);

}  // namespace coli
