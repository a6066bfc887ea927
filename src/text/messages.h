// A conversation as the chat APIs of the field write it: roles, texts, tools, tool calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"

namespace coli {

enum class Role { kSystem, kUser, kAssistant, kTool };

std::string_view RoleName(Role role);

struct ToolCall {
  std::string id;  // may be empty
  std::string name;
  std::string arguments;  // the text of a JSON object, keys in the order they were written
};

struct Message {
  Role role = Role::kUser;
  std::string content = {};
  std::string reasoning = {};             // assistant only: what it thought before `content`
  std::vector<ToolCall> tool_calls = {};  // assistant only
  std::string tool_call_id = {};          // tool only; may be empty

  // Assistant only, optional: exactly the tokens that the model generated for this turn after the
  // generation prompt (reasoning, content and tool calls, without the stop token). They are used
  // instead of encoding the text again, so that the prefix of the next prompt equals what is in the
  // KV cache.
  std::vector<TokenId> content_ids = {};
};

// A function that the model may call.
struct Tool {
  std::string name;
  std::string definition;  // {"name": .., "description": .., "parameters": <JSON schema>} as JSON
                           // text, see python_json.h
  bool deferred = false;   // "defer_loading": not in the list of tools that the model reads
};

// Reads an array of {"role", "content", "reasoning_content", "tool_calls", "tool_call_id"}. Roles:
// system (also spelled developer), user, assistant, tool. Content is a string, null or nothing
// (both "") or an array of text parts, which are joined. reasoning_content may be spelled
// reasoning. A call's arguments are an object or the JSON text of one. Other keys are ignored.
// `where` names the array in errors: `messages[2].role: expected one of system, user, assistant,
// tool, found "robot"`. Errors: kInvalidArgument; kUnsupported for parts that are not text.
Result<std::vector<Message>> ParseMessages(const OrderedJson& messages,
                                           std::string_view where = "messages");

// Reads an array of {"type": "function", "function": {...}} or of bare function objects.
Result<std::vector<Tool>> ParseTools(const OrderedJson& tools, std::string_view where = "tools");

// The same from the text of the array alone.
Result<std::vector<Message>> ParseMessagesText(std::string_view json,
                                               std::string_view where = "messages");
Result<std::vector<Tool>> ParseToolsText(std::string_view json, std::string_view where = "tools");

}  // namespace coli
