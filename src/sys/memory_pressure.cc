#include "sys/memory_pressure.h"

#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

#include "sys/memory_meter.h"

namespace coli {
namespace {

namespace fs = std::filesystem;

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234": the last number.
std::optional<uint64_t> StallIn(const fs::path& path) {
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    constexpr std::string_view kTotal = " total=";
    const size_t at = line.find(kTotal);
    if (!line.starts_with("some ") || at == std::string::npos) {
      continue;
    }
    uint64_t number = 0;
    const char* begin = line.data() + at + kTotal.size();
    if (std::from_chars(begin, line.data() + line.size(), number).ec == std::errc{}) {
      return number;
    }
  }
  return std::nullopt;
}

// The process's own group (version 2), which a limit of its own may squeeze while the machine has
// memory enough; else the machine.
std::optional<uint64_t> ReadStall(const fs::path& root) {
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("0::/")) {
      const fs::path group = fs::path(line.substr(3)).relative_path();
      if (const auto stall = StallIn(root / "sys/fs/cgroup" / group / "memory.pressure")) {
        return stall;
      }
    }
  }
  return StallIn(root / "proc/pressure/memory");
}

uint64_t MajorFaults() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<uint64_t>(usage.ru_majflt) : 0;
}

}  // namespace

MemoryReading ReadMemoryPressure(const fs::path& root) {
  return {.available_bytes = AvailableMemoryBytes(root),
          .stalled_us = ReadStall(root),
          .swapped_bytes = ReadMemoryUse(root).swapped_bytes,
          .major_faults = MajorFaults()};
}

}  // namespace coli
