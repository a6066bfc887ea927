// The characters that Unicode 15 and 16 added to the general categories.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coli {

// The characters of general category `name` ("L", "Lu", ..) as the inside of a character class: the
// regular-expression library's own property and, because the oldest supported library knows Unicode
// 14, what was added since. So text is cut the same way wherever the program runs, and as the
// library that checkpoints are made with cuts it. Nothing for any other name.
std::optional<std::string> GeneralCategoryInClass(std::string_view name);

}  // namespace coli
