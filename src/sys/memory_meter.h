// What the process and the machine have: resident bytes, limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"

namespace coli {

struct MemoryUse {
  uint64_t resident_bytes = 0;   // RSS now
  uint64_t anonymous_bytes = 0;  // RSS without mapped file pages
  uint64_t peak_bytes = 0;       // highest RSS so far
  uint64_t swapped_bytes = 0;    // that the system has moved to a drive
};
// `root` is where proc/ is looked for.
MemoryUse ReadMemoryUse(const std::filesystem::path& root = "/");

// What the whole machine has.
struct MachineMemory {
  uint64_t total_bytes = 0;
  uint64_t swap_bytes = 0;
  uint64_t swap_free_bytes = 0;
};
MachineMemory ReadMachineMemory(const std::filesystem::path& root = "/");

// What this process may still take, file pages that the system can drop not counted as taken.
// `root` is where proc/ and sys/ are looked for.
struct MemoryRoom {
  uint64_t machine_bytes = 0;           // the machine's available memory; 0: not known
  std::optional<uint64_t> group_bytes;  // the least that a control group above it (v1 or v2) leaves
  uint64_t bytes() const { return std::min(machine_bytes, group_bytes.value_or(machine_bytes)); }
};
MemoryRoom ReadMemoryRoom(const std::filesystem::path& root = "/");

// ReadMemoryRoom(root).bytes(): 0 when nothing is known.
uint64_t AvailableMemoryBytes(const std::filesystem::path& root = "/");

}  // namespace coli
