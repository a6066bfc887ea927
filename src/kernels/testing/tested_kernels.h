// For tests: the tables that are compared with the reference.
#pragma once

#include <vector>

#include "kernels/dispatch.h"
#if defined(__x86_64__)
#include "kernels/x86/testing/avx_vnni_stand_in.h"
#endif

namespace coli::testing {

#if defined(__x86_64__)
// Runs where AVX2 does.
inline const KernelTable& AvxVnniStandInTable() {
  static const KernelTable table = MakeTable(Isa::kAvxVnni, "avx-vnni, stand-in", AvxVnniStandIn());
  return table;
}
#endif

// Those of this CPU, the reference left out, and stand-ins for instruction sets that it may lack.
inline std::vector<const KernelTable*> TestedKernels() {
  std::vector<const KernelTable*> tables = AvailableKernels();
  tables.erase(tables.begin());
#if defined(__x86_64__)
  if (!tables.empty()) {
    tables.push_back(&AvxVnniStandInTable());
  }
#endif
  return tables;
}

}  // namespace coli::testing
