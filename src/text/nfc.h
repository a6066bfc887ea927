// Unicode normalisation form C.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace coli {

// `text` is valid UTF-8. Errors: kInvalidArgument for more than 256 combining characters in a row,
// which no language needs and which would take quadratic time to put in order.
Result<std::string> NormalizeNfc(std::string_view text);

}  // namespace coli
