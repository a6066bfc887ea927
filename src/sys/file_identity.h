// Which file it is that is open, and which drive it is on, whatever names and links lead to it.
#pragma once

#include <compare>
#include <cstdint>

#include "base/result.h"
#include "sys/file.h"

namespace coli {

struct FileIdentity {
  uint64_t drive = 0;  // what the system mounts as one: a drive, a part of one, or several
  uint64_t file = 0;   // on that drive

  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

// Error: kIo with path and reason.
Result<FileIdentity> IdentityOf(const File& file);

}  // namespace coli
