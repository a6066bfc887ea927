// For tests: the tables that are compared with the reference.
#pragma once

#include <vector>

#include "kernels/dispatch.h"

namespace coli::testing {

// Those of this CPU, the reference left out.
inline std::vector<const KernelTable*> TestedKernels() {
  std::vector<const KernelTable*> tables = AvailableKernels();
  tables.erase(tables.begin());
  return tables;
}

}  // namespace coli::testing
