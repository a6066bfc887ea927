// What the system says about memory at this moment: whether it is running short, for us or anybody.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace coli {

struct MemoryReading {
  uint64_t available_bytes = 0;  // that this process may still take; 0: not known
  // Since some point in the past: how long some task of the control group, or of the machine,
  // waited for memory. Nothing where the system does not tell.
  std::optional<uint64_t> stalled_us;
  uint64_t swapped_bytes = 0;  // of this process, now
  uint64_t major_faults = 0;   // of this process, since it began: pages that came from a drive
};

// `root` is where proc/ and sys/ are looked for.
MemoryReading ReadMemoryPressure(const std::filesystem::path& root = "/");

}  // namespace coli
