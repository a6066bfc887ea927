#include "text/messages.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/shown.h"
#include "text/python_json.h"

namespace coli {
namespace {

tl::unexpected<Error> Wrong(const std::string& where, std::string_view expected,
                            const OrderedJson* found) {
  return Fail(ErrorCode::kInvalidArgument, "{}: expected {}, found {}", where, expected,
              Shown(found));
}

constexpr std::string_view kContentForms = "a string, null or an array of text parts";

bool IsAbsent(const OrderedJson* value) { return value == nullptr || value->is_null(); }

// A string; null or nothing are "".
Result<std::string> ReadOptionalString(const OrderedJson& object, const char* key,
                                       const std::string& where) {
  const OrderedJson* const value = FindMember(object, key);
  if (IsAbsent(value)) {
    return std::string();
  }
  if (!value->is_string()) {
    return Wrong(fmt::format("{}.{}", where, key), "a string", value);
  }
  return value->get<std::string>();
}

// true or false; null or nothing are false.
Result<bool> ReadOptionalFlag(const OrderedJson& object, const char* key,
                              const std::string& where) {
  const OrderedJson* const value = FindMember(object, key);
  if (IsAbsent(value)) {
    return false;
  }
  if (!value->is_boolean()) {
    return Wrong(fmt::format("{}.{}", where, key), "true or false", value);
  }
  return value->get<bool>();
}

Result<std::string> ReadName(const OrderedJson& object, const std::string& where) {
  const OrderedJson* const name = FindMember(object, "name");
  if (name == nullptr || !name->is_string() || *name == "") {
    return Wrong(where + ".name", "a name", name);
  }
  return name->get<std::string>();
}

Result<Role> ReadRole(const OrderedJson& message, const std::string& where) {
  const OrderedJson* const value = FindMember(message, "role");
  if (value != nullptr && value->is_string()) {
    const std::string& name = value->get_ref<const std::string&>();
    for (const Role role : {Role::kSystem, Role::kUser, Role::kAssistant, Role::kTool}) {
      if (name == RoleName(role)) {
        return role;
      }
    }
    if (name == "developer") {
      return Role::kSystem;
    }
  }
  return Wrong(where + ".role", "one of system, user, assistant, tool", value);
}

Result<std::string> ReadPart(const OrderedJson& part, const std::string& where) {
  if (!part.is_object()) {
    return Wrong(where, "an object with type and text", &part);
  }
  const OrderedJson* const type = FindMember(part, "type");
  if (type == nullptr || !type->is_string()) {
    return Wrong(where + ".type", "\"text\"", type);
  }
  if (*type != "text") {
    return Fail(ErrorCode::kUnsupported,
                "{}.type: expected \"text\", the only kind this model reads, found {}", where,
                Shown(type));
  }
  const OrderedJson* const text = FindMember(part, "text");
  if (text == nullptr || !text->is_string()) {
    return Wrong(where + ".text", "a string", text);
  }
  return text->get<std::string>();
}

Result<std::string> ReadContent(const OrderedJson* content, const std::string& where) {
  if (IsAbsent(content)) {
    return std::string();
  }
  if (content->is_string()) {
    return content->get<std::string>();
  }
  if (!content->is_array()) {
    return Wrong(where, kContentForms, content);
  }
  std::string joined;
  for (size_t i = 0; i < content->size(); ++i) {
    COLI_ASSIGN_OR_RETURN(const std::string part,
                          ReadPart((*content)[i], fmt::format("{}[{}]", where, i)));
    joined += part;
  }
  return joined;
}

// The object's JSON text. Clients send an object or the text of one; an empty text means no
// arguments.
Result<std::string> ReadArguments(const OrderedJson* value, const std::string& where) {
  constexpr std::string_view kExpected = "an object or the JSON text of one";
  if (IsAbsent(value)) {
    return std::string("{}");
  }
  if (value->is_object()) {
    return DumpPythonJson(*value);
  }
  if (!value->is_string()) {
    return Wrong(where, kExpected, value);
  }
  const std::string& text = value->get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return std::string("{}");
  }
  const auto parsed = ParseOrderedJson(text, where);
  if (!parsed) {
    return Fail(ErrorCode::kInvalidArgument, "{}", parsed.error().message);
  }
  if (!parsed->is_object()) {
    return Wrong(where, kExpected, value);
  }
  return DumpPythonJson(*parsed);
}

Result<ToolCall> ReadToolCall(const OrderedJson& value, const std::string& where) {
  if (!value.is_object()) {
    return Wrong(where, "an object", &value);
  }
  ToolCall call;
  COLI_ASSIGN_OR_RETURN(call.id, ReadOptionalString(value, "id", where));
  const OrderedJson* const wrapped = FindMember(value, "function");
  if (wrapped != nullptr && !wrapped->is_object()) {
    return Wrong(where + ".function", "an object", wrapped);
  }
  const OrderedJson& function = wrapped == nullptr ? value : *wrapped;
  const std::string place = wrapped == nullptr ? where : where + ".function";
  COLI_ASSIGN_OR_RETURN(call.name, ReadName(function, place));
  COLI_ASSIGN_OR_RETURN(call.arguments,
                        ReadArguments(FindMember(function, "arguments"), place + ".arguments"));
  return call;
}

Result<std::vector<ToolCall>> ReadToolCalls(const OrderedJson* calls, const std::string& where) {
  std::vector<ToolCall> result;
  if (IsAbsent(calls)) {
    return result;
  }
  if (!calls->is_array()) {
    return Wrong(where, "an array", calls);
  }
  for (const OrderedJson& call : *calls) {
    COLI_ASSIGN_OR_RETURN(ToolCall read,
                          ReadToolCall(call, fmt::format("{}[{}]", where, result.size())));
    result.push_back(std::move(read));
  }
  return result;
}

Result<Message> ReadMessage(const OrderedJson& value, const std::string& where) {
  if (!value.is_object()) {
    return Wrong(where, "an object", &value);
  }
  Message message;
  COLI_ASSIGN_OR_RETURN(message.role, ReadRole(value, where));
  const OrderedJson* const content = FindMember(value, "content");
  if (content == nullptr && message.role != Role::kAssistant) {  // misspelt, not meant to be empty
    return Wrong(where + ".content", kContentForms, content);
  }
  COLI_ASSIGN_OR_RETURN(message.content, ReadContent(content, where + ".content"));
  const bool long_spelling = !IsAbsent(FindMember(value, "reasoning_content"));
  COLI_ASSIGN_OR_RETURN(
      message.reasoning,
      ReadOptionalString(value, long_spelling ? "reasoning_content" : "reasoning", where));
  COLI_ASSIGN_OR_RETURN(message.tool_calls,
                        ReadToolCalls(FindMember(value, "tool_calls"), where + ".tool_calls"));
  COLI_ASSIGN_OR_RETURN(message.tool_call_id, ReadOptionalString(value, "tool_call_id", where));
  if (message.role == Role::kAssistant) {
    return message;
  }
  if (!message.tool_calls.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}.tool_calls: expected calls in assistant messages only, found role {}", where,
                RoleName(message.role));
  }
  message.reasoning.clear();
  return message;
}

// The function alone, as the template shows it: without what only concerns the API.
Result<Tool> ReadTool(const OrderedJson& value, const std::string& where) {
  if (!value.is_object()) {
    return Wrong(where, "an object", &value);
  }
  const OrderedJson* const type = FindMember(value, "type");
  const OrderedJson* const wrapped = FindMember(value, "function");
  if (wrapped != nullptr && !wrapped->is_object()) {
    return Wrong(where + ".function", "an object", wrapped);
  }
  if (wrapped != nullptr && type != nullptr && *type != "function") {
    return Fail(ErrorCode::kUnsupported, "{}.type: expected \"function\", found {}", where,
                Shown(type));
  }
  OrderedJson function = wrapped == nullptr ? value : *wrapped;
  const std::string place = wrapped == nullptr ? where : where + ".function";
  Tool tool;
  COLI_ASSIGN_OR_RETURN(tool.deferred, ReadOptionalFlag(function, "defer_loading", place));
  function.erase("strict");
  function.erase("defer_loading");
  COLI_ASSIGN_OR_RETURN(tool.name, ReadName(function, place));
  const OrderedJson* const parameters = FindMember(function, "parameters");
  if (!IsAbsent(parameters) && !parameters->is_object()) {
    return Wrong(place + ".parameters", "an object", parameters);
  }
  tool.definition = DumpPythonJson(function);
  return tool;
}

template <class Item>
Result<std::vector<Item>> ReadArray(const OrderedJson& array, std::string_view where,
                                    Result<Item> (*read)(const OrderedJson&, const std::string&)) {
  if (!array.is_array()) {
    return Wrong(std::string(where), "an array", &array);
  }
  std::vector<Item> items;
  for (const OrderedJson& value : array) {
    COLI_ASSIGN_OR_RETURN(Item item, read(value, fmt::format("{}[{}]", where, items.size())));
    items.push_back(std::move(item));
  }
  return items;
}

Result<OrderedJson> ParseRequest(std::string_view json, std::string_view where) {
  auto parsed = ParseOrderedJson(json, where);
  if (!parsed) {
    return Fail(ErrorCode::kInvalidArgument, "{}", parsed.error().message);
  }
  return parsed;
}

}  // namespace

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
    case Role::kTool:
      return "tool";
  }
  return "";
}

Result<std::vector<Message>> ParseMessages(const OrderedJson& messages, std::string_view where) {
  return ReadArray<Message>(messages, where, ReadMessage);
}

Result<std::vector<Tool>> ParseTools(const OrderedJson& tools, std::string_view where) {
  return ReadArray<Tool>(tools, where, ReadTool);
}

Result<std::vector<Message>> ParseMessagesText(std::string_view json, std::string_view where) {
  COLI_ASSIGN_OR_RETURN(const OrderedJson parsed, ParseRequest(json, where));
  return ParseMessages(parsed, where);
}

Result<std::vector<Tool>> ParseToolsText(std::string_view json, std::string_view where) {
  COLI_ASSIGN_OR_RETURN(const OrderedJson parsed, ParseRequest(json, where));
  return ParseTools(parsed, where);
}

}  // namespace coli
