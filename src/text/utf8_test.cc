#include "text/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "text/utf8_stream.h"

namespace coli {
namespace {

std::string AtOnce(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.Feed(bytes);
  return text += stream.Flush();
}

TEST(Utf8, EveryCodePointSurvivesEncodingAndDecoding) {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    std::string bytes;
    AppendUtf8(c, bytes);

    const Utf8Char decoded = DecodeUtf8(bytes);

    ASSERT_EQ(decoded.state, Utf8State::kValid) << c;
    ASSERT_EQ(decoded.code_point, c);
    ASSERT_EQ(decoded.length, bytes.size());
  }
}

TEST(Utf8, InvalidBytesAreFoundAtTheirOffset) {
  EXPECT_EQ(FindInvalidUtf8("plain \xC3\xA9 \xF0\x9F\x90\xA6"), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8("ab\xFF"), 2u);
  EXPECT_EQ(FindInvalidUtf8("a\xC0\x80"), 1u);         // overlong
  EXPECT_EQ(FindInvalidUtf8("\xE0\x9F\xBF"), 0u);      // overlong
  EXPECT_EQ(FindInvalidUtf8("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(FindInvalidUtf8("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(FindInvalidUtf8("\xC3\xA9\xE8\x9C"), 2u);  // cut off
}

TEST(Utf8, WhiteSpaceIsExactlyTheTwentyFiveCharacters) {
  size_t count = 0;
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    count += IsWhiteSpace(c) ? 1u : 0u;
  }

  EXPECT_EQ(count, 25u);
  for (const uint32_t c : {0x1Cu, 0x1Fu, 0x180Eu, 0x200Bu, 0xFEFFu}) {
    EXPECT_FALSE(IsWhiteSpace(c)) << c;
  }
}

TEST(Utf8, StripTakesUnicodeSpaceFromBothEndsOnly) {
  EXPECT_EQ(StripWhiteSpace(" \n\t\xE3\x80\x80 a b\xC2\xA0\r\n"), "a b");
  EXPECT_EQ(StripWhiteSpace(" \xE2\x80\x83 "), "");
  EXPECT_EQ(StripWhiteSpace("\x1c\xC3\xA9\x1f"), "\xC3\xA9");
  EXPECT_EQ(StripWhiteSpace(""), "");
}

TEST(Utf8Stream, NeverEmitsHalfACharacter) {
  Utf8Stream stream;

  EXPECT_EQ(stream.Feed("a\xF0"), "a");
  EXPECT_EQ(stream.Feed("\x9F"), "");
  EXPECT_EQ(stream.Feed("\x90"), "");
  EXPECT_EQ(stream.Feed("\xA6z"), "\xF0\x9F\x90\xA6z");
  EXPECT_EQ(stream.Flush(), "");
}

TEST(Utf8Stream, WhatCannotBecomeACharacterIsReplacedOncePerLongestBeginning) {
  // Values from the Unicode standard, section 3.9, and Python's bytes.decode(errors="replace").
  EXPECT_EQ(AtOnce("\xFF"), "\uFFFD");
  EXPECT_EQ(AtOnce("\xF0\x9F\x90"), "\uFFFD");
  EXPECT_EQ(AtOnce("\xF0\x9F\x90 a"), "\uFFFD a");
  EXPECT_EQ(AtOnce("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(AtOnce("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(AtOnce("\xC0\xAF"), "\uFFFD\uFFFD");
}

TEST(Utf8Stream, AnIncompleteEndIsReplacedAtTheFlushAndForgotten) {
  Utf8Stream stream;

  EXPECT_EQ(stream.Feed("\xE8\x9C"), "");
  EXPECT_EQ(stream.Flush(), "\uFFFD");
  EXPECT_EQ(stream.Flush(), "");
  EXPECT_EQ(stream.Feed("ok"), "ok");
}

TEST(Utf8Stream, PiecesDoNotChangeTheResult) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (size_t i = random() % 12; i > 0; --i) {
      constexpr std::string_view kInteresting =
          "a\x80\xBF\xC2\xC3\xA9\xE0\xE8\x9C\xED\xA0\xF0\x9F\x90\xF4\xFF";
      bytes += kInteresting[random() % kInteresting.size()];
    }
    Utf8Stream stream;
    std::string text;
    for (const char byte : bytes) {
      text += stream.Feed(std::string_view(&byte, 1));
    }
    text += stream.Flush();

    ASSERT_EQ(text, AtOnce(bytes));
    ASSERT_EQ(FindInvalidUtf8(text), std::nullopt);
  }
}

}  // namespace
}  // namespace coli
