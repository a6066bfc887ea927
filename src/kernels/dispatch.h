// Which table runs here. The choice is made once, by the caller, and passed on: no global.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/kernel_table.h"

namespace coli {

// The table for `name`: "auto" (the best this CPU supports) or the name of an instruction set.
// Errors: kInvalidArgument for a name that this build does not know, kUnsupported when this CPU
// lacks it; both list what there is.
Result<const KernelTable*> SelectKernels(std::string_view name);

// The kernels of an instruction set, with those that it builds on where it has none.
KernelTable MakeTable(Isa isa, std::string_view name, const IsaKernels& kernels);

// Tables that can run on this CPU, worst first; "scalar" is always the first.
std::vector<const KernelTable*> AvailableKernels();

}  // namespace coli
