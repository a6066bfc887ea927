#include "kernels/dispatch.h"

#include <string>

#include "kernels/reference/reference.h"
#if defined(__x86_64__)
#include "kernels/x86/avx2.h"
#include "kernels/x86/avx512_vnni.h"
#include "kernels/x86/avx_vnni.h"
#endif
#if defined(__aarch64__)
#include "kernels/arm/neon.h"
#endif

namespace coli {
namespace {

bool AlwaysSupported() { return true; }

#if defined(__x86_64__)
// These also ask whether the operating system saves the wide registers.
bool CpuHasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
}
bool CpuHasAvxVnni() { return CpuHasAvx2() && __builtin_cpu_supports("avxvnni"); }
bool CpuHasAvx512Vnni() {
  return CpuHasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}
#endif

struct Candidate {
  KernelTable table;
  bool supported;
};

// All instruction sets of this build, worst first.
const std::vector<Candidate>& Candidates() {
  static const std::vector<Candidate> candidates = {
#define COLI_ISA(id, name, kernels, supported) {MakeTable(Isa::id, name, kernels()), supported()},
#include "kernels/isas.def"
#undef COLI_ISA
  };
  return candidates;
}

std::string AvailableNames() {
  std::string names = "auto";
  for (const KernelTable* table : AvailableKernels()) {
    names.append(", ").append(table->name);
  }
  return names;
}

}  // namespace

KernelTable MakeTable(Isa isa, std::string_view name, const IsaKernels& kernels) {
  KernelTable table = kernels.base != nullptr
                          ? MakeTable(isa, name, kernels.base())
                          : KernelTable{.isa = isa, .name = name, .matrix = {}, .vector = {}};
  const auto replace = [](auto& function, auto own) { function = own != nullptr ? own : function; };
  for (size_t i = 0; i < table.matrix.size(); ++i) {
    const MatrixKernels& own = kernels.matrix[i];
    replace(table.matrix[i].prepared_bytes, own.prepared_bytes);
    replace(table.matrix[i].prepare, own.prepare);
    replace(table.matrix[i].multiply, own.multiply);
    replace(table.matrix[i].multiply_transposed, own.multiply_transposed);
  }
  if (kernels.vector != nullptr) {
    table.vector = *kernels.vector;
  }
  return table;
}

std::vector<const KernelTable*> AvailableKernels() {
  std::vector<const KernelTable*> tables;
  for (const Candidate& candidate : Candidates()) {
    if (candidate.supported) {
      tables.push_back(&candidate.table);
    }
  }
  return tables;
}

Result<const KernelTable*> SelectKernels(std::string_view name) {
  if (name == "auto") {
    return AvailableKernels().back();
  }
  for (const Candidate& candidate : Candidates()) {
    if (candidate.table.name != name) {
      continue;
    }
    if (!candidate.supported) {
      return Fail(ErrorCode::kUnsupported, "instruction set '{}': this CPU lacks it; available: {}",
                  name, AvailableNames());
    }
    return &candidate.table;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "instruction set '{}': unknown in this build; available: {}", name, AvailableNames());
}

}  // namespace coli
