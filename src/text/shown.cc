#include "text/shown.h"

#include <nlohmann/json.hpp>

#include "text/utf8.h"

namespace coli {
namespace {

constexpr size_t kMaxShownBytes = 60;

template <class Value>
std::string ShowValue(const Value& value) {
  // Containers are only named: writing out a large one takes long and tells little.
  if (value.is_object()) {
    return value.empty() ? "{}" : "an object";
  }
  if (value.is_array()) {
    return value.empty() ? "[]" : "an array";
  }
  std::string text = value.dump(-1, ' ', false, Value::error_handler_t::replace);
  if (text.size() <= kMaxShownBytes) {
    return text;
  }
  text.resize(kMaxShownBytes);
  if (const auto half_character = FindInvalidUtf8(text)) {
    text.resize(*half_character);
  }
  return text + "...";
}

template <class Value>
const Value* Find(const Value& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

std::string Shown(const Json* value) { return value == nullptr ? "nothing" : ShowValue(*value); }
std::string Shown(const OrderedJson* value) {
  return value == nullptr ? "nothing" : ShowValue(*value);
}
std::string Shown(const Json& value) { return ShowValue(value); }
std::string Shown(const OrderedJson& value) { return ShowValue(value); }

const Json* FindMember(const Json& object, std::string_view key) { return Find(object, key); }
const OrderedJson* FindMember(const OrderedJson& object, std::string_view key) {
  return Find(object, key);
}

}  // namespace coli
