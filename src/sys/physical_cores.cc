#include <hwloc.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>

#include "sys/thread_pool.h"

namespace coli {
namespace {

// Cores with at least one hardware thread in `allowed`; 0 when the topology has no cores.
size_t CountCores(hwloc_topology_t topology, hwloc_const_cpuset_t allowed) {
  size_t cores = 0;
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, nullptr);
       core != nullptr; core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) {
    cores += hwloc_bitmap_intersects(core->cpuset, allowed) != 0 ? 1U : 0U;
  }
  return cores;
}

size_t CoresOfTopology(hwloc_topology_t topology) {
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  if (allowed == nullptr) {
    return 0;
  }
  if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) != 0) {
    hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology));
  }
  size_t cores = CountCores(topology, allowed);
  if (cores == 0) {
    cores = static_cast<size_t>(std::max(hwloc_bitmap_weight(allowed), 0));
  }
  hwloc_bitmap_free(allowed);
  return cores;
}

// Without sysfs (a bare chroot, some containers) hwloc has nothing to read and says so on standard
// error.
bool HasTopology() {
#ifdef __linux__
  std::error_code error;
  return std::filesystem::exists("/sys/devices/system/cpu/online", error);
#else
  return true;
#endif
}

}  // namespace

size_t PhysicalCores() {
  hwloc_topology_t topology{};
  size_t cores = 0;
  if (HasTopology() && hwloc_topology_init(&topology) == 0) {
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) == 0) {
      cores = CoresOfTopology(topology);
    }
    hwloc_topology_destroy(topology);
  }
  return std::max<size_t>(cores != 0 ? cores : std::thread::hardware_concurrency(), 1);
}

}  // namespace coli
