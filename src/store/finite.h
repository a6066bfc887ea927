// Checks of numbers that come from files, before anything is computed with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/function_ref.h"
#include "base/result.h"
#include "tensor/format.h"
#include "tensor/tensor_view.h"

namespace coli {

// The index of the first float that is not finite, in bytes of a plain float format (kFloat).
std::optional<uint64_t> FirstNonFinite(FormatId format, std::span<const std::byte> bytes);

// The scales of `view` must be finite and not negative; plain float weights must be finite.
// Error: kCorrupt, "<place>: expected ..., found ... at row R". `place` names file and tensor, and
// is called for an error only.
Status CheckScales(const WeightView& view, FunctionRef<std::string()> place);
Status CheckFloats(const WeightView& view, FunctionRef<std::string()> place);

}  // namespace coli
