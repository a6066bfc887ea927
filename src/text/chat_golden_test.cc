// What Jinja makes of the same conversations: tests/golden/chat/cases.json, made by
// tools/oracle/chat_goldens.py with the template beside it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "text/chat_template.h"
#include "text/testing/golden_cases.h"
#include "text/testing/tokenizer.h"

namespace coli {
namespace {

Result<ChatRequest> ReadRequest(const OrderedJson& item, const ChatFormat& format) {
  ChatRequest request;
  request.format = format;
  COLI_ASSIGN_OR_RETURN(request.messages, ParseMessages(item.at("messages")));
  if (item.contains("tools")) {
    COLI_ASSIGN_OR_RETURN(request.tools, ParseTools(item.at("tools")));
  }
  const OrderedJson options = item.value("options", OrderedJson::object());
  request.options.enable_thinking = options.value("enable_thinking", true);
  request.options.reasoning_effort = options.value("reasoning_effort", "");
  request.options.clear_thinking = options.value("clear_thinking", true);
  request.options.add_generation_prompt = options.value("add_generation_prompt", true);
  return request;
}

TEST(ChatGolden, IsWhatJinjaMakesOfTheTemplate) {
  const auto folder = golden_cases::Root() / "tests/golden/chat";
  const ChatFormat format =
      ChatFormat::Glm5FromTemplate(golden_cases::ReadFile(folder / "chat_template.jinja"));
  const auto cases = ParseOrderedJson(golden_cases::ReadFile(folder / "cases.json"), "cases.json");
  const auto tokenizer = testing_tokenizer::Parse(testing_tokenizer::Make());
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;

  for (const OrderedJson& item : cases->at("cases")) {
    const std::string expected = item.at("text").get<std::string>();
    const auto request = ReadRequest(item, format);
    ASSERT_TRUE(request) << item.at("name") << ": " << request.error().message;

    const auto text = RenderChat(*request);
    const auto ids = EncodeChat(*tokenizer, *request);

    ASSERT_TRUE(text) << item.at("name") << ": " << text.error().message;
    ASSERT_TRUE(ids) << item.at("name") << ": " << ids.error().message;
    EXPECT_EQ(*text, expected) << item.at("name");
    EXPECT_EQ(tokenizer->Decode(*ids, false), expected) << item.at("name");
  }
  EXPECT_GE(cases->at("cases").size(), 40u);
}

}  // namespace
}  // namespace coli
