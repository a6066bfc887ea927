#include "text/argument_types.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace coli {

ArgumentTypes::ArgumentTypes(std::span<const Tool> tools) {
  for (const Tool& tool : tools) {
    const auto definition = ParseOrderedJson(tool.definition, "tool");
    if (!definition) {
      continue;
    }
    const OrderedJson* const parameters = FindMember(*definition, "parameters");
    const OrderedJson* const properties =
        parameters == nullptr ? nullptr : FindMember(*parameters, "properties");
    if (properties == nullptr || !properties->is_object()) {
      continue;
    }
    for (const auto& [name, schema] : properties->get_ref<const OrderedJson::object_t&>()) {
      Collect(schema, tools_[tool.name][name]);
    }
  }
}

// The types a value may have: "type" (one or several), the values of "enum" and "const", any of the
// alternatives. Recursive; the depth of parsed values is limited.
void ArgumentTypes::Collect(const OrderedJson& schema, Declared& declared) {
  const auto add_type = [&](const OrderedJson& type) {
    declared.string |= type == "string";
    declared.null |= type == "null";
  };
  const OrderedJson* const type = FindMember(schema, "type");
  if (type != nullptr && type->is_array()) {
    std::for_each(type->begin(), type->end(), add_type);
  } else if (type != nullptr) {
    add_type(*type);
  } else {
    const auto add_value = [&](const OrderedJson& value) {
      declared.string |= value.is_string();
      declared.null |= value.is_null();
    };
    const OrderedJson* const values = FindMember(schema, "enum");
    if (values != nullptr && values->is_array()) {
      std::for_each(values->begin(), values->end(), add_value);
    }
    if (const OrderedJson* const value = FindMember(schema, "const")) {
      add_value(*value);
    }
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const OrderedJson* const alternatives = FindMember(schema, key);
    if (alternatives == nullptr || !alternatives->is_array()) {
      continue;
    }
    for (const OrderedJson& alternative : *alternatives) {
      Collect(alternative, declared);
    }
  }
}

OrderedJson ArgumentTypes::Value(std::string_view tool, std::string_view argument,
                                 std::string_view text) const {
  Declared declared;
  if (const auto found = tools_.find(tool); found != tools_.end()) {
    if (const auto type = found->second.find(argument); type != found->second.end()) {
      declared = type->second;
    }
  }
  if (declared.string) {
    if (declared.null && text == "null") {
      return nullptr;
    }
    return std::string(text);
  }
  auto value = ParseOrderedJson(text, "argument");
  return value ? *std::move(value) : OrderedJson(std::string(text));
}

}  // namespace coli
