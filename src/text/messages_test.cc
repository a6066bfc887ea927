#include "text/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/python_json.h"

namespace coli {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view json) {
  const auto messages = ParseMessagesText(json);
  return messages ? "accepted" : messages.error().message;
}

std::string ToolErrorOf(std::string_view json) {
  const auto tools = ParseToolsText(json);
  return tools ? "accepted" : tools.error().message;
}

TEST(Messages, ReadsEveryFormOfContent) {
  const auto messages = ParseMessagesText(R"([
    {"role": "developer", "content": "S"},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "name": "x"},
    {"role": "assistant", "content": null, "reasoning_content": "r",
     "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"x\":3,\"a\":\"é\"}"}},
                    {"function": {"name": "g", "arguments": {"z": 1, "b": [1,2]}}}, {"name": "h", "arguments": ""}]},
    {"role": "tool", "content": "7", "tool_call_id": "1"},
    {"role": "assistant", "tool_calls": null},
    {"role": "tool", "tool_call_id": null, "content": ""}])");

  ASSERT_TRUE(messages) << messages.error().message;
  ASSERT_EQ(messages->size(), 6u);
  EXPECT_EQ((*messages)[0].role, Role::kSystem);
  EXPECT_EQ((*messages)[1].content, "ab");
  const Message& assistant = (*messages)[2];
  EXPECT_EQ(assistant.content, "");
  EXPECT_EQ(assistant.reasoning, "r");
  ASSERT_EQ(assistant.tool_calls.size(), 3u);
  EXPECT_EQ(assistant.tool_calls[0].id, "1");
  EXPECT_EQ(assistant.tool_calls[0].arguments, R"({"x": 3, "a": "é"})");
  EXPECT_EQ(assistant.tool_calls[1].arguments, R"({"z": 1, "b": [1, 2]})");
  EXPECT_EQ(assistant.tool_calls[2].arguments, "{}");
  EXPECT_EQ((*messages)[3].tool_call_id, "1");
  EXPECT_EQ((*messages)[4].content, "");
}

TEST(Messages, ErrorsNameTheIndexAndTheField) {
  EXPECT_EQ(
      ErrorOf(
          R"([{"role":"assistant"},{"role":"user","content":null},{"role":"robot","content":"x"}])"),
      "messages[2].role: expected one of system, user, assistant, tool, found \"robot\"");
  EXPECT_EQ(ErrorOf("{}"), "messages: expected an array, found {}");
  EXPECT_EQ(ErrorOf("[3]"), "messages[0]: expected an object, found 3");
  EXPECT_EQ(ErrorOf(R"([{"content":"x"}])"),
            "messages[0].role: expected one of system, user, assistant, tool, found nothing");
  EXPECT_EQ(ErrorOf(R"([{"role":"user","content":5}])"),
            "messages[0].content: expected a string, null or an array of text parts, found 5");
  EXPECT_EQ(
      ErrorOf(R"([{"role":"user","contnet":"x"}])"),
      "messages[0].content: expected a string, null or an array of text parts, found nothing");
  EXPECT_EQ(ErrorOf(R"([{"role":"user","content":[{"type":"text"}]}])"),
            "messages[0].content[0].text: expected a string, found nothing");
  EXPECT_EQ(ErrorOf(R"([{"role":"user","content":["a"]}])"),
            "messages[0].content[0]: expected an object with type and text, found \"a\"");
  EXPECT_EQ(ErrorOf(R"([{"role":"assistant","reasoning_content":[]}])"),
            "messages[0].reasoning_content: expected a string, found []");
  EXPECT_EQ(ErrorOf(R"([{"role":"assistant","tool_calls":[{"function":{"arguments":{}}}]}])"),
            "messages[0].tool_calls[0].function.name: expected a name, found nothing");
  EXPECT_THAT(ErrorOf(R"([{"role":"assistant","tool_calls":[{"name":"f","arguments":"{x"}]}])"),
              HasSubstr("messages[0].tool_calls[0].arguments: byte 1"));
  EXPECT_EQ(ErrorOf(R"([{"role":"assistant","tool_calls":[{"name":"f","arguments":"[1]"}]}])"),
            "messages[0].tool_calls[0].arguments: expected an object or the JSON text of one, "
            "found \"[1]\"");
  EXPECT_THAT(ErrorOf(R"([{"role":"user","content":"x","tool_calls":[{"name":"f"}]}])"),
              HasSubstr("messages[0].tool_calls: "));
  EXPECT_THAT(ErrorOf("[{"), HasSubstr("messages: byte 2"));
}

TEST(Messages, ReasoningHasTwoSpellings) {
  const auto messages = ParseMessagesText(
      R"([{"role":"assistant","reasoning":"a"},{"role":"assistant","reasoning":"a","reasoning_content":"b"},
          {"role":"assistant","reasoning":"a","reasoning_content":null}])");

  ASSERT_TRUE(messages) << messages.error().message;
  EXPECT_EQ((*messages)[0].reasoning, "a");
  EXPECT_EQ((*messages)[1].reasoning, "b");
  EXPECT_EQ((*messages)[2].reasoning, "a");
  EXPECT_EQ(ErrorOf(R"([{"role":"assistant","reasoning":{}}])"),
            "messages[0].reasoning: expected a string, found {}");
}

TEST(Messages, PartsThatAreNotTextAreRefusedByTheirType) {
  const auto messages = ParseMessagesText(
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]}])");

  ASSERT_FALSE(messages);
  EXPECT_EQ(messages.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(messages.error().message, HasSubstr("messages[0].content[1].type"));
  EXPECT_THAT(messages.error().message, HasSubstr("found \"image_url\""));
}

TEST(Tools, AreUnwrappedAndKeepTheOrderOfKeys) {
  const auto tools = ParseToolsText(
      R"([{"type":"function","function":{"name":"f","strict":true,"description":"é","parameters":{"b":1,"a":{}}}},
          {"name":"g","defer_loading":false}])");

  ASSERT_TRUE(tools) << tools.error().message;
  EXPECT_EQ((*tools)[0].name, "f");
  EXPECT_EQ((*tools)[0].definition,
            R"({"name": "f", "description": "é", "parameters": {"b": 1, "a": {}}})");
  EXPECT_EQ((*tools)[1].definition, R"({"name": "g"})");
}

TEST(Tools, ErrorsNameTheIndexAndTheField) {
  EXPECT_EQ(ToolErrorOf(R"([{"type":"function","function":{}}])"),
            "tools[0].function.name: expected a name, found nothing");
  EXPECT_EQ(ToolErrorOf(R"([{"name":"f"},7])"), "tools[1]: expected an object, found 7");
  EXPECT_EQ(ToolErrorOf(R"([{"name":"f","parameters":[]}])"),
            "tools[0].parameters: expected an object, found []");
  EXPECT_EQ(ToolErrorOf(R"([{"function":{"name":"f","defer_loading":"yes"}}])"),
            "tools[0].function.defer_loading: expected true or false, found \"yes\"");
  EXPECT_THAT(ToolErrorOf(R"([{"type":"retrieval","function":{"name":"f"}}])"),
              HasSubstr("tools[0].type"));
}

// Expected values: python3 -c 'import json; print(json.dumps(..., ensure_ascii=False))'
TEST(PythonJson, WritesAsPythonDoes) {
  const auto dump = [](std::string_view text) {
    return DumpPythonJson(ParseOrderedJson(text, "t").value());
  };

  EXPECT_EQ(dump(R"({"b":[1,-2,true,null],"a":{},"c":[]})"),
            R"({"b": [1, -2, true, null], "a": {}, "c": []})");
  EXPECT_EQ(dump(R"("é\u0001\n\"\\\/\u007f")"), "\"é\\u0001\\n\\\"\\\\/\x7f\"");
  EXPECT_EQ(
      dump("[1.0,0.1,1e15,1e16,1e22,1e-4,1e-5,-0.0,123456789.125,5e-324,18446744073709551615]"),
      "[1.0, 0.1, 1000000000000000.0, 1e+16, 1e+22, 0.0001, 1e-05, -0.0, 123456789.125, 5e-324, "
      "18446744073709551615]");
}

}  // namespace
}  // namespace coli
