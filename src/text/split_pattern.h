// Regular expressions of tokenizer files, in the dialect of this program's regular-expression
// library.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace coli {

// Tokenizer files are written for another library (Oniguruma). This rewrites what both spell alike
// but mean differently: \s is exactly Unicode White_Space (25 characters), \S all others; general
// categories (\p{L}, \d) are those of Unicode 16. What cannot be rewritten with certainty is
// refused (kUnsupported, naming the construct and showing the pattern): \w, \b, \h, anchors, back
// references, nested character classes and so on. `pattern` is valid UTF-8.
Result<std::string> TranslateSplitPattern(std::string_view pattern);

}  // namespace coli
