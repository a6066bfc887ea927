#include "sys/memory_meter.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace coli {
namespace {

namespace fs = std::filesystem;

// The number at the start of `text` after blanks; nothing for "max" or when there is none.
std::optional<uint64_t> LeadingNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) {
    return std::nullopt;
  }
  return number;
}

std::optional<uint64_t> NumberIn(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return LeadingNumber(line);
}

// The number in the line of `path` that starts with `key`.
uint64_t NumberAfter(const fs::path& path, std::string_view key) {
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    if (std::string_view(line).starts_with(key)) {
      return LeadingNumber(std::string_view(line).substr(key.size())).value_or(0);
    }
  }
  return 0;
}

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kNoLimit = uint64_t{1} << 62;  // what version 1 says instead of "max" is larger

// The names of one version of control groups.
struct GroupFiles {
  std::string_view mount;
  std::string_view limit;
  std::string_view usage;
  std::string_view active_file;  // keys in memory.stat
  std::string_view inactive_file;
};
constexpr GroupFiles kVersion1{"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_active_file ",
                               "total_inactive_file "};
constexpr GroupFiles kVersion2{"sys/fs/cgroup", "memory.max", "memory.current", "active_file ",
                               "inactive_file "};

// What one group leaves; nothing when it sets no limit.
std::optional<uint64_t> LeftIn(const fs::path& group, const GroupFiles& files) {
  const std::optional<uint64_t> limit = NumberIn(group / files.limit);
  const std::optional<uint64_t> usage = NumberIn(group / files.usage);
  if (!limit || !usage || *limit >= kNoLimit) {
    return std::nullopt;
  }
  const fs::path stat = group / "memory.stat";
  const uint64_t droppable =
      NumberAfter(stat, files.active_file) + NumberAfter(stat, files.inactive_file);
  const uint64_t taken = *usage - std::min(*usage, droppable);
  return *limit - std::min(*limit, taken);
}

// The least that the group named `path` and those above it leave. Inside a container the name may
// be one of the host's that does not exist here; the walk then finds the container's own group at
// the mount point.
std::optional<uint64_t> LeftOnPath(const fs::path& root, const std::string& path,
                                   const GroupFiles& files) {
  std::optional<uint64_t> least;
  fs::path relative = fs::path(path).relative_path();
  while (true) {
    if (const auto left = LeftIn(root / files.mount / relative, files)) {
      least = std::min(least.value_or(*left), *left);
    }
    if (relative.empty()) {
      return least;
    }
    relative = relative.parent_path();
  }
}

std::optional<uint64_t> LeftByGroups(const fs::path& root) {
  std::optional<uint64_t> least;
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {  // "<number>:<controllers>:<path>"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (!v2 && controllers.find(",memory,") == std::string::npos) {
      continue;
    }
    if (const auto left = LeftOnPath(root, line.substr(second + 1), v2 ? kVersion2 : kVersion1)) {
      least = std::min(least.value_or(*left), *left);
    }
  }
  return least;
}

}  // namespace

MemoryUse ReadMemoryUse(const fs::path& root) {
  const fs::path status = root / "proc/self/status";
  return {.resident_bytes = NumberAfter(status, "VmRSS:") * kKiB,
          .anonymous_bytes = NumberAfter(status, "RssAnon:") * kKiB,
          .peak_bytes = NumberAfter(status, "VmHWM:") * kKiB,
          .swapped_bytes = NumberAfter(status, "VmSwap:") * kKiB};
}

MachineMemory ReadMachineMemory(const fs::path& root) {
  const fs::path facts = root / "proc/meminfo";
  return {.total_bytes = NumberAfter(facts, "MemTotal:") * kKiB,
          .swap_bytes = NumberAfter(facts, "SwapTotal:") * kKiB,
          .swap_free_bytes = NumberAfter(facts, "SwapFree:") * kKiB};
}

MemoryRoom ReadMemoryRoom(const fs::path& root) {
  return {.machine_bytes = NumberAfter(root / "proc/meminfo", "MemAvailable:") * kKiB,
          .group_bytes = LeftByGroups(root)};
}

uint64_t AvailableMemoryBytes(const fs::path& root) { return ReadMemoryRoom(root).bytes(); }

}  // namespace coli
