// The physical cores of this machine that the process may use.
#pragma once

#include <cstddef>
#include <memory>

namespace coli {

// A snapshot of the cores (hwloc; the affinity of the calling thread respected). Immutable.
class PhysicalCores {
 public:
  PhysicalCores();

  size_t count() const { return count_; }  // >= 1

  // Keeps the calling thread on the hardware threads of core `core` in [0, count()). False, and
  // nothing changed, where the system does not tell its cores apart or refuses.
  bool BindThisThread(size_t core) const;

 private:
  struct Topology;
  std::shared_ptr<const Topology> topology_;
  size_t count_ = 1;
};

}  // namespace coli
