// For tests: the tables that are compared with the reference.
#pragma once

#include <vector>

#include "kernels/dispatch.h"
#if defined(__x86_64__)
#include "kernels/x86/testing/vnni_stand_ins.h"
#endif

namespace coli::testing {

#if defined(__x86_64__)
// They run where AVX2 does.
inline const KernelTable& AvxVnniStandInTable() {
  static const KernelTable table = MakeTable(Isa::kAvxVnni, "avx-vnni, stand-in", AvxVnniStandIn());
  return table;
}
inline const KernelTable& Avx512VnniStandInTable() {
  static const KernelTable table =
      MakeTable(Isa::kAvx512Vnni, "avx512-vnni, stand-in", Avx512VnniStandIn());
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
    tables.push_back(&Avx512VnniStandInTable());
  }
#endif
  return tables;
}

}  // namespace coli::testing
