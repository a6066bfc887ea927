#include "text/output_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coli {
namespace {

using ::testing::IsEmpty;

struct Parsed {
  std::string reasoning;
  std::string content;
  std::vector<std::string> calls;  // name and arguments

  bool operator==(const Parsed&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Parsed& parsed) {
  out << "reasoning `" << parsed.reasoning << "` content `" << parsed.content << "`";
  for (const std::string& call : parsed.calls) {
    out << " call `" << call << "`";
  }
  return out;
}

void Add(const OutputDelta& delta, Parsed& parsed) {
  parsed.reasoning += delta.reasoning;
  parsed.content += delta.content;
  for (const ToolCall& call : delta.tool_calls) {
    parsed.calls.push_back(call.name + call.arguments);
  }
}

std::vector<Tool> Tools() {
  return ParseToolsText(R"([{"name":"f","parameters":{"type":"object","properties":{
           "s":{"type":"string"},"n":{"type":"integer"},"o":{"type":["string","null"]},
           "a":{"anyOf":[{"type":"string"},{"type":"null"}]},"e":{"enum":["1","2"]},"x":{}}}}])")
      .value();
}

// Feeds the text in pieces of every small size and checks that the result is always the same.
Parsed Parse(std::string_view text, bool starts_in_reasoning = false,
             const std::vector<Tool>& tools = Tools()) {
  Parsed whole;
  for (size_t size = text.size() + 1; size > 0; size = size > 20 ? 20 : size - 1) {
    OutputParser parser(starts_in_reasoning, tools);
    Parsed parsed;
    for (size_t at = 0; at < text.size(); at += size) {
      Add(parser.Feed(text.substr(at, size)), parsed);
    }
    Add(parser.Finish(), parsed);
    if (size == text.size() + 1) {
      whole = parsed;
    }
    EXPECT_EQ(parsed, whole) << "pieces of " << size;
  }
  return whole;
}

TEST(OutputParser, SplitsReasoningFromContent) {
  EXPECT_EQ(Parse("I think.</think>Yes.", true), (Parsed{"I think.", "Yes.", {}}));
  EXPECT_EQ(Parse("\nI think.\n</think>\n\nYes.\n", true), (Parsed{"I think.\n", "Yes.\n", {}}));
  EXPECT_EQ(Parse("never closed", true), (Parsed{"never closed", "", {}}));
  EXPECT_EQ(Parse("plain </think> text"), (Parsed{"", "plain </think> text", {}}));
  EXPECT_EQ(Parse("  kept"), (Parsed{"", "  kept", {}}));
  EXPECT_EQ(Parse("", true), Parsed{});
}

TEST(OutputParser, ReleasesTextAsSoonAsItCannotBeATag) {
  OutputParser parser(true, {});

  EXPECT_EQ(parser.Feed("a </th").reasoning, "a ");
  EXPECT_EQ(parser.Feed("e b <").reasoning, "</the b ");
  EXPECT_EQ(parser.Feed("<").reasoning, "<");
  EXPECT_EQ(parser.Feed("/think").reasoning, "");
  EXPECT_EQ(parser.Feed(">c").content, "c");
  EXPECT_EQ(parser.Feed("1 < 2").content, "1 < 2");
  EXPECT_EQ(parser.Feed("<tool_").content, "");
  EXPECT_EQ(parser.Finish().content, "<tool_");
}

TEST(OutputParser, ReadsCallsWithTheTypesOfTheTool) {
  const Parsed parsed = Parse(
      "Let me "
      "see.<tool_call>f<arg_key>s</arg_key><arg_value>3</arg_value><arg_key>n</"
      "arg_key><arg_value>3</arg_value>"
      "<arg_key>o</arg_key><arg_value>null</arg_value><arg_key>a</arg_key><arg_value>true</"
      "arg_value>"
      "<arg_key>e</arg_key><arg_value>1</arg_value><arg_key>x</arg_key><arg_value>[1, "
      "\"b\"]</arg_value></tool_call>");

  EXPECT_EQ(parsed.content, "Let me see.");
  EXPECT_THAT(parsed.calls,
              testing::ElementsAre(R"(f{"s":"3","n":3,"o":null,"a":"true","e":"1","x":[1,"b"]})"));
}

TEST(OutputParser, ValuesMayContainAnythingButTheirEnd) {
  const Parsed parsed = Parse(
      "<tool_call>f<arg_key>s</arg_key><arg_value>a <b>\n</tool_call> <arg_key> \"q\" "
      "</arg_valu</arg_value></tool_call>");

  EXPECT_THAT(parsed.calls,
              testing::ElementsAre(R"(f{"s":"a <b>\n</tool_call> <arg_key> \"q\" </arg_valu"})"));
  EXPECT_EQ(parsed.content, "");
}

TEST(OutputParser, LineBreaksBetweenThePartsAreDropped) {
  const Parsed parsed = Parse(
      "why\n</think>\n<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</"
      "tool_call>\n<tool_call>g</tool_call>\n",
      true);

  EXPECT_EQ(parsed, (Parsed{"why\n", "", {R"(f{"n":1})", "g{}"}}));
}

TEST(OutputParser, AToolTagEndsReasoningOnlyIfToolsWereOffered) {
  EXPECT_EQ(Parse("hm<tool_call>g</tool_call>", true), (Parsed{"hm", "", {"g{}"}}));
  EXPECT_EQ(Parse("hm<tool_call>g</tool_call></think>x", true, {}),
            (Parsed{"hm<tool_call>g</tool_call>", "x", {}}));
}

TEST(OutputParser, WithoutASchemaJsonIsTriedFirst) {
  const Parsed parsed = Parse(
      "<tool_call>other<arg_key>a</arg_key><arg_value>3</arg_value><arg_key>b</"
      "arg_key><arg_value>Rome</arg_value></tool_call>",
      false, {});

  EXPECT_THAT(parsed.calls, testing::ElementsAre(R"(other{"a":3,"b":"Rome"})"));
}

TEST(OutputParser, AMissingEndOfTheCallIsForgivenWhenNothingElseIsMissing) {
  EXPECT_THAT(Parse("<tool_call>f<arg_key>n</arg_key><arg_value>1</arg_value>").calls,
              testing::ElementsAre(R"(f{"n":1})"));
  EXPECT_THAT(
      Parse("<tool_call>f<arg_key>n</arg_key><arg_value>1</arg_value><tool_call>g</tool_call>")
          .calls,
      testing::ElementsAre(R"(f{"n":1})", "g{}"));
}

TEST(OutputParser, WhatIsNoCallComesBackLetterByLetter) {
  for (const char* text :
       {"<tool_call>f", "a\n<tool_call>f<arg_key>n</arg_key><arg_val", "<tool_call></tool_call> x",
        "<tool_call>", "<tool_call>f<arg_value>1</arg_value></tool_call> y",
        "<tool_call>f<arg_key>n</arg_key></tool_call>",
        "<tool_call>f<arg_key>n</arg_key><arg_value>1</arg_value>junk</tool_call>",
        "<tool_call>f<arg_key>n</arg_key>junk<arg_value>1</arg_value></tool_call>"}) {
    EXPECT_EQ(Parse(text), (Parsed{"", text, {}}));
  }
}

TEST(OutputParser, ManyTagsInOnePieceTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    text += "<tool_call>g</tool_call>< <";
  }
  OutputParser parser(false, {});

  EXPECT_EQ(parser.Feed(text).tool_calls.size(), 20000u);
  EXPECT_THAT(parser.Finish().content, "<");
}

}  // namespace
}  // namespace coli
