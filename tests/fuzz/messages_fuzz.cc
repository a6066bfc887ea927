// Messages and tools of a request, their rendering, and the parsing of an answer.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/chat_template.h"
#include "text/output_parser.h"
#include "text/testing/tokenizer.h"
#include "text/tool_words.h"
#include "text/utf8.h"

namespace {

// A piece at a time or all at once: the same.
std::string Split(std::string_view text, const std::vector<coli::Tool>& tools, size_t piece) {
  coli::OutputParser parser(true, tools);
  std::string reasoning;
  std::string content;
  std::string calls;
  const auto add = [&](const coli::OutputDelta& delta) {
    reasoning += delta.reasoning;
    content += delta.content;
    for (const coli::ToolCall& call : delta.tool_calls) {
      calls += call.name + call.arguments;
    }
  };
  for (size_t at = 0; at < text.size(); at += piece) {
    add(parser.Feed(text.substr(at, piece)));
  }
  add(parser.Finish());
  return reasoning + '\0' + content + '\0' + calls;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizer = coli::testing_tokenizer::Parse(coli::testing_tokenizer::Make());
  COLI_CHECK(tokenizer.has_value());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tools = coli::ParseToolsText(text).value_or(std::vector<coli::Tool>{});
  coli::ChatRequest request;
  request.messages = coli::ParseMessagesText(text).value_or(std::vector<coli::Message>{});
  request.tools = tools;
  COLI_CHECK(coli::EncodeChat(*tokenizer, request).has_value() == !request.messages.empty());

  (void)coli::FindToolWords(text);
  if (!coli::FindInvalidUtf8(text)) {
    COLI_CHECK(Split(text, tools, 1) == Split(text, tools, size + 1));
    COLI_CHECK(Split(text, {}, 7) == Split(text, {}, size + 1));
  }
  return 0;
}
