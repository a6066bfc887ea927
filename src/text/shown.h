// JSON values as they appear in error messages.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace coli {

// The value as JSON, cut to a length that fits a message; "nothing" for a null pointer.
std::string Shown(const Json* value);
std::string Shown(const OrderedJson* value);
std::string Shown(const Json& value);
std::string Shown(const OrderedJson& value);

// The member of an object; null if there is none or `object` is no object.
const Json* FindMember(const Json& object, std::string_view key);
const OrderedJson* FindMember(const OrderedJson& object, std::string_view key);

}  // namespace coli
