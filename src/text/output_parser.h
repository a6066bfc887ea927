// Splits what the model generates into reasoning, content and tool calls while it arrives.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/messages.h"

namespace coli {

// What one step added. A tool call appears once, when it is complete.
struct OutputDelta {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;  // ids empty: the server names them
};

// Feeds on valid UTF-8 in pieces of any size (Utf8Stream makes it); the result does not depend on
// where the pieces end. Text that may be the beginning of a tag is held back until it cannot be
// one. Thread-compatible.
//
// - In reasoning, "</think>" starts the content; so does "<tool_call>" when tools were offered
//   (models forget to close).
// - The name of a call, its keys and values are the text between the tags. A value whose schema
//   says string is taken as it is; others are read as JSON and are strings if they are not JSON.
//   Without a schema JSON is tried first.
// - A call that is malformed or cut off comes back as content, letter by letter, unless only
//   "</tool_call>" is missing.
class OutputParser {
 public:
  // starts_in_reasoning: ChatFormat::StartsInReasoning. Tools give the types of arguments; may be
  // empty.
  OutputParser(bool starts_in_reasoning, std::span<const Tool> tools);
  OutputParser(OutputParser&&) noexcept;
  OutputParser& operator=(OutputParser&&) noexcept;
  ~OutputParser();

  OutputDelta Feed(std::string_view text);

  // The end of the answer: releases whatever was held back.
  OutputDelta Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coli
