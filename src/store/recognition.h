// Which number format the bytes of a quantised matrix are in.
//
// Files of the colibri container say nothing about it: dtype U8 (or I8) and a companion `.qs` of
// f32 scales mean "quantised", and the two byte counts, with the shape that the model's config asks
// for, tell the format. A stamp, where there is one, must agree. Source: docs/container.md, "How a
// format is recognised".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "tensor/format.h"

namespace coli {

struct QuantizedBytes {
  uint64_t rows = 0;
  uint64_t cols = 0;
  uint64_t code_bytes = 0;
  uint64_t scale_bytes = 0;
};

// `stamp`: the format's name in the file's metadata. Formats are asked for their byte counts in
// this order: int8-row; int4-grouped, finest group first; int4-row; int2-row; int3-g64;
// fp8-e4m3-b128. Where both forms of int4 fit (one group per row), they mean the same numbers.
// Where int8 and fp8 fit, only a stamp can say fp8. Errors do not say where: kUnsupported for a
// format that is known by name only; kCorrupt when nothing fits or the stamp says otherwise.
Result<Format> RecognizeFormat(const QuantizedBytes& found, std::optional<std::string_view> stamp);

// Names that a stamp may hold, implemented or not.
bool IsKnownFormatName(std::string_view name);

}  // namespace coli
