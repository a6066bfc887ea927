// Upper and lower case, as Unicode sees it.
#pragma once

#include <string>
#include <string_view>

namespace coli {

// Each character by its simple mapping to lower case. `text` is valid UTF-8.
std::string LowerCase(std::string_view text);

}  // namespace coli
