// JSON from outside: parsed with limits, duplicate keys refused, errors with the place in the text.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/result.h"

namespace coli {

using Json = nlohmann::json;
using OrderedJson =
    nlohmann::ordered_json;  // keeps the order of keys; linear look-up, for small objects only

struct JsonLimits {
  size_t max_bytes = size_t{64} << 20;
  size_t max_depth = 64;
  size_t max_values = size_t{16} << 20;  // values, keys included
};

// Parses the whole of `text`. `source` names the file or request in errors: "<source>: byte N:
// ...". Errors: kCorrupt for anything that is not exactly one JSON value in valid UTF-8 within the
// limits, numbers out of range, or an object with the same key twice.
Result<Json> ParseJson(std::string_view text, std::string_view source,
                       const JsonLimits& limits = {});
Result<OrderedJson> ParseOrderedJson(std::string_view text, std::string_view source,
                                     const JsonLimits& limits = {});
// For objects of very many members: each is given to `take` when it has been read, in the order of
// the text, and not kept. Errors: as above, kCorrupt for anything but an object, and those of
// `take`, which end the parsing.
using MemberTaker = FunctionRef<Status(const std::string& key, const Json& value)>;
Status ParseJsonMembers(std::string_view text, std::string_view source, const JsonLimits& limits,
                        MemberTaker take);

// The member of an object; null if there is none or `object` is no object.
const Json* FindMember(const Json& object, std::string_view key);
const OrderedJson* FindMember(const OrderedJson& object, std::string_view key);

}  // namespace coli
