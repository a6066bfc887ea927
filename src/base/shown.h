// JSON values as they appear in error messages: short, printable, on one line.
#pragma once

#include <string>

#include "base/json.h"

namespace coli {

// Scalars as JSON in ASCII, a long string cut; lists of at most four values with their values,
// other containers only named, because writing out a large one takes long and tells little.
// "nothing" for a null pointer.
std::string Shown(const Json* value);
std::string Shown(const OrderedJson* value);
std::string Shown(const Json& value);
std::string Shown(const OrderedJson& value);

}  // namespace coli
