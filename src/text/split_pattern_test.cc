#include "text/split_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/pre_tokenizer.h"
#include "text/testing/tokenizer.h"
#include "text/utf8.h"

namespace coli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Words(std::vector<SplitStep> steps, const std::string& text) {
  const auto pre_tokenizer = PreTokenizer::Create(steps);
  EXPECT_TRUE(pre_tokenizer) << pre_tokenizer.error().message;
  if (!pre_tokenizer) {
    return {};
  }
  std::vector<std::string_view> words;
  const Status status = pre_tokenizer->Split(text, words);
  EXPECT_TRUE(status) << status.error().message;
  return {words.begin(), words.end()};
}

std::vector<std::string> GlmWords(const std::string& text) {
  return Words(
      {{.pattern = std::string(testing_tokenizer::kPattern), .literal = false, .field = "p"}},
      text);
}

std::string Refusal(std::string_view pattern) {
  const auto translated = TranslateSplitPattern(pattern);
  if (translated) {
    return "accepted";
  }
  EXPECT_EQ(translated.error().code, ErrorCode::kUnsupported);
  return translated.error().message;
}

TEST(SplitPattern, WhiteSpaceIsExactlyUnicodeWhiteSpaceInsideAndOutsideClasses) {
  const std::vector<std::string> patterns = {R"(\s)", R"([\s])", R"([^\S])"};
  // Every character between two letters: those that are white space become words of their own.
  std::string text = "x";
  size_t expected = 1;
  for (uint32_t c = 1; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    AppendUtf8(c, text);
    text += "x";
    expected += IsWhiteSpace(c) ? 2u : 0u;
  }

  for (const std::string& pattern : patterns) {
    const auto words = Words({{.pattern = pattern, .literal = false, .field = "p"}}, text);

    EXPECT_EQ(words.size(), expected) << pattern;
    for (const std::string& word : words) {
      const bool is_space = !word.starts_with('x');
      EXPECT_EQ(StripWhiteSpace(word).empty(), is_space) << pattern;
    }
  }
}

// Expected values: UnicodeData.txt of 16.0.
TEST(SplitPattern, GeneralCategoriesAreThoseOfUnicode16InsideAndOutsideClasses) {
  const std::string letter = "\U00013460";  // assigned by Unicode 16, as a letter
  const std::string number = "\U00010D40";
  const std::string symbol = "\u2427";
  const std::string text = letter + "a" + number + "1" + symbol + "+";
  const auto words = [&](const char* pattern) {
    return Words({{.pattern = pattern, .literal = false, .field = "p"}}, text);
  };
  const std::vector<std::string> letters = {letter + "a", number + "1" + symbol + "+"};
  const std::vector<std::string> digits = {letter + "a", number + "1", symbol + "+"};
  const std::vector<std::string> symbols = {letter + "a" + number + "1", symbol + "+"};

  for (const char* pattern : {R"(\p{L}+)", R"([\p{L}]+)", R"(\P{L}+)", R"(\p{^L}+)", R"([^\p{L}]+)",
                              R"([\p{Lo}\p{Ll}]+)"}) {
    EXPECT_EQ(words(pattern), letters) << pattern;
  }
  for (const char* pattern : {R"(\d+)", R"([\d]+)", R"(\D+)", R"(\p{N}+)", R"([\p{Nd}]+)"}) {
    EXPECT_EQ(words(pattern), digits) << pattern;
  }
  for (const char* pattern : {R"(\p{S}+)", R"([^\p{L}\p{N}]+)", R"([\p{So}+]+)"}) {
    EXPECT_EQ(words(pattern), symbols) << pattern;
  }
}

TEST(SplitPattern, ConstructsThatLibrariesReadDifferentlyAreRefusedByName) {
  EXPECT_THAT(Refusal(R"(a\w+)"),
              HasSubstr(R"(byte 1 of the pattern: \w is not supported, in `a\w+`)"));
  EXPECT_THAT(Refusal(R"(\bx)"), HasSubstr(R"(\b)"));
  EXPECT_THAT(Refusal(R"([\h])"), HasSubstr(R"(\h)"));
  EXPECT_THAT(Refusal(R"((a)\1)"), HasSubstr(R"(\1)"));
  EXPECT_THAT(Refusal("^a"), HasSubstr("anchor"));
  EXPECT_THAT(Refusal("a$"), HasSubstr("anchor"));
  EXPECT_THAT(Refusal("[a[b]]"), HasSubstr("[ inside"));
  EXPECT_THAT(Refusal("[a&&b]"), HasSubstr("&&"));
  EXPECT_THAT(Refusal("a{2,3}+"), HasSubstr("+ after {}"));
  EXPECT_THAT(Refusal("a{,3}"), HasSubstr("{"));
  EXPECT_THAT(Refusal("(?R)"), HasSubstr("(?R)"));
  EXPECT_THAT(Refusal("(*LIMIT_MATCH=1)a"), HasSubstr("(*LI"));
  EXPECT_THAT(Refusal("(?m:a)"), HasSubstr("(?m:"));
  EXPECT_THAT(Refusal("a\\"), HasSubstr("at the end"));
  EXPECT_THAT(Refusal(R"(\p{L)"), HasSubstr("without }"));
  EXPECT_THAT(Refusal(R"(\pL)"), HasSubstr(R"(\p without {})"));
  EXPECT_THAT(Refusal(R"([\P{L}])"), HasSubstr(R"(\P{L} inside a character class)"));
  EXPECT_THAT(Refusal(R"([a\D])"), HasSubstr(R"(\D inside a character class)"));
}

TEST(SplitPattern, APatternThatDoesNotCompileIsShownInTheError) {
  for (const char* pattern : {"(a", "a)", "[a", "*a", R"(\p{NoSuchThing})", "(?<=a+)b"}) {
    const auto result =
        PreTokenizer::Create({{.pattern = pattern, .literal = false, .field = "t.json: field"}});

    ASSERT_FALSE(result) << pattern;
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(result.error().message, HasSubstr("t.json: field"));
    EXPECT_THAT(result.error().message, HasSubstr(pattern));
  }
}

TEST(PreTokenizer, CutsLikeGlm) {
  EXPECT_THAT(GlmWords("Hello world!"), ElementsAre("Hello", " world", "!"));
  EXPECT_THAT(GlmWords("12345"), ElementsAre("123", "45"));
  EXPECT_THAT(GlmWords("it's IT'S"), ElementsAre("it", "'s", " IT", "'S"));
  EXPECT_THAT(GlmWords("it'\u017f x"), ElementsAre("it", "'\u017f", " x"));
  EXPECT_THAT(GlmWords("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(GlmWords("a \n\n  b"), ElementsAre("a", " \n\n", " ", " b"));
  EXPECT_THAT(GlmWords("x.\n\ny"), ElementsAre("x", ".\n\n", "y"));
  EXPECT_THAT(GlmWords("end  "), ElementsAre("end", "  "));
  EXPECT_THAT(GlmWords("e\u0301t"), ElementsAre("e", "\u0301t"));
  EXPECT_TRUE(GlmWords("").empty());
}

TEST(PreTokenizer, StepsWorkOneAfterTheOtherAndKeepEverything) {
  const std::vector<SplitStep> steps = {
      {.pattern = R"(\p{N}{1,3})", .literal = false, .field = "p"},
      {.pattern = "+", .literal = true, .field = "p"},
      {.pattern = "x*", .literal = false, .field = "p"}};

  EXPECT_THAT(Words(steps, "a1234+bxxc"),
              ElementsAre("a", "1", "2", "3", "4", "+", "b", "xx", "c"));
}

TEST(PreTokenizer, APatternThatExplodesIsAnErrorNotAHang) {
  const auto pre_tokenizer = PreTokenizer::Create(
      {{.pattern = R"((?:\p{L}+)+\p{N})", .literal = false, .field = "t.json: p"}});
  ASSERT_TRUE(pre_tokenizer) << pre_tokenizer.error().message;
  std::vector<std::string_view> words;

  const Status status = pre_tokenizer->Split(std::string(60, 'a'), words);

  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("gives up on the text at byte 0"));
}

// Each match is cheap, but its failed half looks at the rest of the text from every position.
TEST(PreTokenizer, APatternOfQuadraticTimeIsAnErrorNotAHang) {
  const auto pre_tokenizer =
      PreTokenizer::Create({{.pattern = R"([^b]*b|.)", .literal = false, .field = "t.json: p"}});
  ASSERT_TRUE(pre_tokenizer) << pre_tokenizer.error().message;
  const std::string text(100'000, 'a');
  std::vector<std::string_view> words;

  const Status status = pre_tokenizer->Split(text, words);

  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("gives up on the text at byte "));
}

}  // namespace
}  // namespace coli
