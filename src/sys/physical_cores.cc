#include "sys/physical_cores.h"

#include <hwloc.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"

namespace coli {
namespace {

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

struct PhysicalCores::Topology {
  Topology();
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  hwloc_topology_t handle = nullptr;  // null: could not be read
  hwloc_bitmap_t allowed = nullptr;   // hardware threads of this process
  std::vector<hwloc_bitmap_t> cores;  // the allowed hardware threads of each core, none empty
};

PhysicalCores::Topology::Topology() {
  if (!HasTopology() || hwloc_topology_init(&handle) != 0) {
    handle = nullptr;
    return;
  }
  hwloc_topology_set_all_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(handle, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  allowed = hwloc_bitmap_alloc();
  if (allowed == nullptr || hwloc_topology_load(handle) != 0) {
    return;
  }
  if (hwloc_get_cpubind(handle, allowed, HWLOC_CPUBIND_THREAD) != 0) {
    hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(handle));
  }
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_CORE, nullptr);
       core != nullptr; core = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_CORE, core)) {
    if (hwloc_bitmap_intersects(core->cpuset, allowed) == 0) {
      continue;
    }
    hwloc_bitmap_t own = hwloc_bitmap_alloc();
    if (own == nullptr) {
      return;
    }
    hwloc_bitmap_and(own, core->cpuset, allowed);
    cores.push_back(own);
  }
}

PhysicalCores::Topology::~Topology() {
  for (hwloc_bitmap_t core : cores) {
    hwloc_bitmap_free(core);
  }
  hwloc_bitmap_free(allowed);
  if (handle != nullptr) {
    hwloc_topology_destroy(handle);
  }
}

PhysicalCores::PhysicalCores() : topology_(std::make_shared<const Topology>()) {
  count_ = topology_->cores.size();
  if (count_ == 0 && topology_->allowed != nullptr) {
    count_ = static_cast<size_t>(std::max(hwloc_bitmap_weight(topology_->allowed), 0));
  }
  if (count_ == 0) {
    count_ = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  }
}

bool PhysicalCores::BindThisThread(size_t core) const {
  COLI_CHECK(core < count_);
  const std::vector<hwloc_bitmap_t>& cores = topology_->cores;
  return core < cores.size() &&
         hwloc_set_cpubind(topology_->handle, cores[core], HWLOC_CPUBIND_THREAD) == 0;
}

}  // namespace coli
