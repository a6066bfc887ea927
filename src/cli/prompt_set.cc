#include "cli/prompt_set.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/shown.h"
#include "cli/human.h"
#include "text/letter_case.h"
#include "text/tags.h"

namespace coli {
namespace {

constexpr std::array<std::string_view, 5> kMembers = {"kind", "messages", "tools", "thinking",
                                                      "expect"};

tl::unexpected<Error> Wrong(const std::string& where, std::string_view expected,
                            const OrderedJson* found) {
  return Fail(ErrorCode::kInvalidArgument, "{}: expected {}, found {}", where, expected,
              Shown(found));
}

Status CheckMembers(const OrderedJson& object, const std::string& place) {
  if (!object.is_object()) {
    return Wrong(place, "an object", &object);
  }
  for (const auto& [name, value] : object.get_ref<const OrderedJson::object_t&>()) {
    if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end()) {
      const std::string nearest = NearestName(name, kMembers);
      return Fail(ErrorCode::kInvalidArgument, "{}: unknown member \"{}\"{}", place, name,
                  nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest));
    }
  }
  return Ok();
}

Result<std::string> ReadText(const OrderedJson* value, const std::string& where) {
  if (value == nullptr || !value->is_string() || value->get_ref<const std::string&>().empty()) {
    return Wrong(where, "a text that is not empty", value);
  }
  return value->get<std::string>();
}

Result<bool> ReadThinking(const OrderedJson& object, const std::string& place) {
  const OrderedJson* const value = FindMember(object, "thinking");
  if (value == nullptr || value->is_boolean()) {
    return value != nullptr && value->get<bool>();
  }
  return Wrong(place + ": thinking", "true or false", value);
}

Result<std::vector<std::string>> ReadExpect(const OrderedJson& object, const std::string& place) {
  const std::string where = place + ": expect";
  const OrderedJson* const value = FindMember(object, "expect");
  if (value == nullptr || !value->is_array() || value->empty()) {
    return Wrong(where, "an array of at least one text", value);
  }
  std::vector<std::string> texts;
  for (const OrderedJson& item : *value) {
    COLI_ASSIGN_OR_RETURN(std::string text,
                          ReadText(&item, fmt::format("{}[{}]", where, texts.size())));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

Result<JudgedPrompt> ParsePromptLine(std::string_view line, const std::string& place) {
  auto object = ParseOrderedJson(line, place);
  if (!object) {
    return Fail(ErrorCode::kInvalidArgument, "{}", object.error().message);
  }
  COLI_RETURN_IF_ERROR(CheckMembers(*object, place));
  JudgedPrompt prompt;
  prompt.place = place;
  COLI_ASSIGN_OR_RETURN(prompt.kind, ReadText(FindMember(*object, "kind"), place + ": kind"));
  const OrderedJson* const messages = FindMember(*object, "messages");
  if (messages == nullptr || messages->empty()) {
    return Wrong(place + ": messages", "an array of at least one message", messages);
  }
  COLI_ASSIGN_OR_RETURN(prompt.messages, ParseMessages(*messages, place + ": messages"));
  if (const OrderedJson* const tools = FindMember(*object, "tools")) {
    COLI_ASSIGN_OR_RETURN(prompt.tools, ParseTools(*tools, place + ": tools"));
  }
  COLI_ASSIGN_OR_RETURN(prompt.thinking, ReadThinking(*object, place));
  COLI_ASSIGN_OR_RETURN(prompt.expect, ReadExpect(*object, place));
  return prompt;
}

Result<std::vector<JudgedPrompt>> ParsePromptSet(std::string_view text, const std::string& source) {
  std::vector<JudgedPrompt> prompts;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    COLI_ASSIGN_OR_RETURN(JudgedPrompt prompt,
                          ParsePromptLine(line, fmt::format("{}:{}", source, number)));
    prompts.push_back(std::move(prompt));
  }
  if (prompts.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected at least one prompt, found none",
                source);
  }
  return prompts;
}

bool IsRight(const JudgedPrompt& prompt, std::string_view answer, bool starts_in_reasoning) {
  if (starts_in_reasoning) {
    constexpr std::string_view kEnd = TextOf(Tag::kThinkEnd);
    const size_t end = answer.rfind(kEnd);
    if (end == std::string_view::npos) {
      return false;
    }
    answer.remove_prefix(end + kEnd.size());
  }
  const std::string lower = LowerCase(answer);
  return std::all_of(prompt.expect.begin(), prompt.expect.end(), [&](const std::string& text) {
    return lower.find(LowerCase(text)) != std::string::npos;
  });
}

}  // namespace coli
