#include "base/shown.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace coli {
namespace {

constexpr size_t kMaxStringBytes = 60;
constexpr size_t kMaxListed = 4;

// A value inside a list: lists in it are only named.
template <class Value>
std::string ShowElement(const Value& value) {
  if (value.is_object()) {
    return value.empty() ? "{}" : "an object";
  }
  if (value.is_array()) {
    return fmt::format("a list of {} values", value.size());
  }
  if (!value.is_string()) {
    return value.dump();
  }
  const std::string_view text = value.template get_ref<const std::string&>();
  const Value excerpt(std::string(text.substr(0, kMaxStringBytes)));
  const std::string quoted =
      excerpt.dump(-1, ' ', /*ensure_ascii=*/true, Value::error_handler_t::ignore);
  return text.size() > kMaxStringBytes ? quoted + "..." : quoted;
}

template <class Value>
std::string ShowValue(const Value& value) {
  if (!value.is_array() || value.size() > kMaxListed) {
    return ShowElement(value);
  }
  std::vector<std::string> elements;
  for (const Value& element : value) {
    elements.push_back(ShowElement(element));
  }
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

}  // namespace

std::string Shown(const Json* value) { return value == nullptr ? "nothing" : ShowValue(*value); }
std::string Shown(const OrderedJson* value) {
  return value == nullptr ? "nothing" : ShowValue(*value);
}
std::string Shown(const Json& value) { return ShowValue(value); }
std::string Shown(const OrderedJson& value) { return ShowValue(value); }

}  // namespace coli
