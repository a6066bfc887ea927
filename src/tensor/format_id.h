// The name of a number format, without what is known about it (tensor/format.h). Free of library
// code, so that files compiled for one instruction set may include it.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace coli {

enum class FormatId : uint8_t {
#define COLI_FORMAT(id, name, info) id,
#include "tensor/formats.def"
#undef COLI_FORMAT
};

inline constexpr size_t kFormatCount = 0
#define COLI_FORMAT(id, name, info) +1
#include "tensor/formats.def"
#undef COLI_FORMAT
    ;

// A format with its parameter. `group` is the number of columns that share a scale; 0 where the
// format has no such choice.
struct Format {
  FormatId id;
  uint32_t group = 0;
  friend bool operator==(const Format&, const Format&) = default;
};

}  // namespace coli
