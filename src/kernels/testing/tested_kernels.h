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
  static const KernelTable table = [] {
    const IsaKernels& kernels = AvxVnniStandIn();
    KernelTable all = *AvailableKernels().front();
    all.isa = Isa::kAvxVnni;
    all.name = "avx-vnni, stand-in";
    all.vector = kernels.vector;
    for (size_t i = 0; i < all.matrix.size(); ++i) {
      all.matrix[i] = kernels.matrix[i] != nullptr ? kernels.matrix[i] : all.matrix[i];
    }
    return all;
  }();
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
