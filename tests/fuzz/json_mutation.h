// For fuzzers only: changes one thing in a JSON text, so that it stays JSON and reaches what is
// behind the JSON parser.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coli::testing {

// `text` with one value replaced, removed, repeated, moved or altered; nothing (an empty string)
// when it is no JSON. The same seed gives the same change.
std::string MutateJson(std::string_view text, unsigned seed);

}  // namespace coli::testing
