#include "cli/prompt_set.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

constexpr std::string_view kGood =
    R"({"kind": "capital", "messages": [{"role": "user", "content": "Peru?"}], "expect": ["Lima"]})";

std::string ErrorOf(std::string_view line) {
  const auto prompt = ParsePromptLine(line, "set.jsonl:7");
  return prompt ? "no error" : prompt.error().message;
}

// The good line with one piece of text replaced.
std::string With(std::string_view old_text, std::string_view new_text) {
  std::string line(kGood);
  const size_t at = line.find(old_text);
  EXPECT_NE(at, std::string::npos);
  return line.replace(at, old_text.size(), new_text);
}

JudgedPrompt Expecting(std::vector<std::string> expect) {
  JudgedPrompt prompt;
  prompt.expect = std::move(expect);
  return prompt;
}

TEST(ParsePromptLine, ReadsEveryMember) {
  const auto prompt = ParsePromptLine(
      R"({"kind": "tool weather", "thinking": true, "expect": ["get_weather", "Oslo"],
          "messages": [{"role": "system", "content": "Be brief."},
                       {"role": "user", "content": "Weather in Oslo?"}],
          "tools": [{"type": "function", "function": {"name": "get_weather"}}]})",
      "set.jsonl:7");

  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_EQ(prompt->place, "set.jsonl:7");
  EXPECT_EQ(prompt->kind, "tool weather");
  EXPECT_TRUE(prompt->thinking);
  EXPECT_EQ(prompt->expect, (std::vector<std::string>{"get_weather", "Oslo"}));
  ASSERT_EQ(prompt->messages.size(), 2u);
  EXPECT_EQ(prompt->messages[1].content, "Weather in Oslo?");
  ASSERT_EQ(prompt->tools.size(), 1u);
  EXPECT_EQ(prompt->tools[0].name, "get_weather");
}

TEST(ParsePromptLine, ToolsAndThinkingMayBeLeftOut) {
  const auto prompt = ParsePromptLine(kGood, "set.jsonl:7");

  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_FALSE(prompt->thinking);
  EXPECT_TRUE(prompt->tools.empty());
}

TEST(ParsePromptLine, ErrorsNamePlaceAndMember) {
  EXPECT_EQ(ErrorOf("[]"), "set.jsonl:7: expected an object, found []");
  EXPECT_EQ(ErrorOf(With("\"capital\"", "3")),
            "set.jsonl:7: kind: expected a text that is not empty, found 3");
  EXPECT_EQ(ErrorOf(With("\"capital\"", "\"\"")),
            "set.jsonl:7: kind: expected a text that is not empty, found \"\"");
  EXPECT_EQ(ErrorOf(With("\"Lima\"", "null")),
            "set.jsonl:7: expect[0]: expected a text that is not empty, found null");
  EXPECT_EQ(ErrorOf(With("[\"Lima\"]", "[]")),
            "set.jsonl:7: expect: expected an array of at least one text, found []");
  EXPECT_EQ(ErrorOf(With("[\"Lima\"]", "\"Lima\"")),
            "set.jsonl:7: expect: expected an array of at least one text, found \"Lima\"");
  EXPECT_EQ(ErrorOf(With("\"kind\"", "\"thinking\": 1, \"kind\"")),
            "set.jsonl:7: thinking: expected true or false, found 1");
  EXPECT_EQ(ErrorOf(With("\"user\"", "\"robot\"")),
            "set.jsonl:7: messages[0].role: expected one of system, user, assistant, tool, found "
            "\"robot\"");
  EXPECT_EQ(ErrorOf(With("\"kind\"", "\"tools\": [{}], \"kind\"")),
            "set.jsonl:7: tools[0].name: expected a name, found nothing");
}

TEST(ParsePromptLine, MembersThatAreMissingOrMisspeltAreErrors) {
  EXPECT_EQ(ErrorOf(R"({"kind": "x", "expect": ["y"]})"),
            "set.jsonl:7: messages: expected an array of at least one message, found nothing");
  EXPECT_EQ(ErrorOf(With("\"expect\"", "\"expects\"")),
            "set.jsonl:7: unknown member \"expects\" (did you mean expect?)");
  EXPECT_NE(ErrorOf(With("}]", "}")).find("set.jsonl:7: byte"), std::string::npos);
}

TEST(ParsePromptSet, CountsLinesAndPassesOverBlankOnes) {
  const std::string text = std::string(kGood) + "\r\n\n  \n" + std::string(kGood);

  const auto prompts = ParsePromptSet(text, "set.jsonl");

  ASSERT_TRUE(prompts) << prompts.error().message;
  ASSERT_EQ(prompts->size(), 2u);
  EXPECT_EQ((*prompts)[0].place, "set.jsonl:1");
  EXPECT_EQ((*prompts)[1].place, "set.jsonl:4");
}

TEST(ParsePromptSet, NamesTheLineThatIsWrong) {
  const auto prompts = ParsePromptSet(std::string(kGood) + "\n{}\n", "set.jsonl");

  ASSERT_FALSE(prompts);
  EXPECT_EQ(prompts.error().message.substr(0, 13), "set.jsonl:2: ");
}

TEST(ParsePromptSet, AnEmptySetIsAnError) {
  for (const std::string_view text : {"", "\n", " \r\n\t\n"}) {
    const auto prompts = ParsePromptSet(text, "set.jsonl");
    ASSERT_FALSE(prompts);
    EXPECT_EQ(prompts.error().message, "set.jsonl: expected at least one prompt, found none");
  }
}

TEST(IsRight, NeedsEveryTextAndIgnoresCase) {
  EXPECT_TRUE(IsRight(Expecting({"lima"}), "The capital of Peru is LIMA.", false));
  EXPECT_TRUE(IsRight(Expecting({"\u00D6STERREICH", "wien"}), "Wien, \u00D6sterreich", false));
  EXPECT_FALSE(IsRight(Expecting({"Lima", "Quito"}), "Lima", false));
  EXPECT_FALSE(IsRight(Expecting({"Lima"}), "", false));
}

TEST(IsRight, CountsOnlyWhatFollowsTheThinking) {
  EXPECT_TRUE(IsRight(Expecting({"Lima"}), "Peru?</think>Lima", true));
  EXPECT_FALSE(IsRight(Expecting({"Lima"}), "Lima?</think>Quito", true));
  EXPECT_FALSE(IsRight(Expecting({"Lima"}), "Lima", true)) << "it never left its thinking";
}

TEST(IsRight, SeesACallAsItIsWritten) {
  const std::string_view call =
      "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>";

  EXPECT_TRUE(IsRight(Expecting({"<tool_call>get_weather", "<arg_value>oslo<"}), call, false));
}

}  // namespace
}  // namespace coli
