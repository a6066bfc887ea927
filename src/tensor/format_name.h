// Number formats as people write them: "int8-row", and "int4-g64" for int4-grouped with groups of
// 64. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/format_id.h"

namespace coli {

std::string FormatName(Format format);
// Nothing for names that mean no format.
std::optional<Format> ParseFormat(std::string_view name);
// All names that ParseFormat knows, for messages: "f32, bf16, ...".
std::string FormatNames();

}  // namespace coli
