// What the process and the machine have: resident bytes, limits.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace coli {

struct MemoryUse {
  uint64_t resident_bytes = 0;   // RSS now
  uint64_t anonymous_bytes = 0;  // RSS without mapped file pages
  uint64_t peak_bytes = 0;       // highest RSS so far
};
MemoryUse ReadMemoryUse();

// Bytes that this process may still take: the smallest of the machine's available memory and what
// each control group above the process (v1 or v2) leaves, file pages that the system can drop not
// counted as taken. 0 when nothing is known. `root` is where proc/ and sys/ are looked for.
uint64_t AvailableMemoryBytes(const std::filesystem::path& root = "/");

}  // namespace coli
