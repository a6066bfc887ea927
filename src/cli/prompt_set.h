// A prompt set: prompts whose answers can be judged, one JSON object per line.
//   {"kind": "capital", "messages": [{"role": "user", "content": "What is the capital of Peru?"}],
//    "tools": [], "thinking": false, "expect": ["Lima"]}
// docs/cli.md describes the members. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/messages.h"

namespace coli {

struct JudgedPrompt {
  std::string place;  // "prompts.jsonl:12", for errors and people
  std::string kind;   // what is counted together
  std::vector<Message> messages;
  std::vector<Tool> tools;
  bool thinking = false;            // let the model think first
  std::vector<std::string> expect;  // a right answer contains each of them
};

// One line. Errors: kInvalidArgument naming place and member: "prompts.jsonl:12: expect[0]:
// expected a text that is not empty, found 3"; kUnsupported for messages that are not text. Members
// that have no meaning here are errors, too: a misspelt one would change what is judged.
Result<JudgedPrompt> ParsePromptLine(std::string_view line, const std::string& place);

// All lines but the blank ones. Errors: as above, and kInvalidArgument when there is none. `source`
// names the file.
Result<std::vector<JudgedPrompt>> ParsePromptSet(std::string_view text, const std::string& source);

// Whether `answer`, control tokens spelled out, contains everything expected; upper and lower case
// are the same. When the model had to think first, only what follows its thinking counts, and an
// answer that never left it is wrong. `answer` is valid UTF-8.
bool IsRight(const JudgedPrompt& prompt, std::string_view answer, bool starts_in_reasoning);

}  // namespace coli
