// Lines of a prompt set, and the judgement of an answer.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cli/prompt_set.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto prompts = coli::ParsePromptSet(text, "set.jsonl");
  if (!prompts) {
    COLI_CHECK(prompts.error().message.starts_with("set.jsonl:"));
    return 0;
  }
  for (const coli::JudgedPrompt& prompt : *prompts) {
    COLI_CHECK(!prompt.kind.empty() && !prompt.messages.empty() && !prompt.expect.empty());
    std::string everything;
    for (const std::string& expected : prompt.expect) {
      COLI_CHECK(!coli::FindInvalidUtf8(expected));
      everything += expected;
    }
    // Nothing expected is empty, so silence is never right.
    COLI_CHECK(!coli::IsRight(prompt, "", false));
    COLI_CHECK(coli::IsRight(prompt, everything, false));
    COLI_CHECK(!coli::IsRight(prompt, "no end of thinking", true));
    COLI_CHECK(coli::IsRight(prompt, "</think>" + everything, true) ||
               everything.find("</think>") != std::string::npos);
  }
  return 0;
}
