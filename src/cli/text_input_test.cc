#include "cli/text_input.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/testing/temp_directory.h"
#include "text/testing/tokenizer.h"

namespace coli {
namespace {

class TextInputTest : public ::testing::Test {
 protected:
  std::string File(std::string_view content) const {
    testing::WriteFile(directory_ / "text", content);
    return (directory_ / "text").string();
  }

  // The pieces of a file, or what went wrong.
  std::vector<std::string> Pieces(std::string_view content, size_t piece_bytes) const {
    TextPieces pieces(*TextInput::Open(File(content)), piece_bytes);
    std::vector<std::string> all;
    for (;;) {
      const auto piece = pieces.Next();
      if (!piece || piece->empty()) {
        all.push_back(piece ? "" : piece.error().message);
        return all;
      }
      all.push_back(*piece);
    }
  }

  testing::TempDirectory directory_;
};

TEST_F(TextInputTest, ReadsInOrderAndLessOnlyAtTheEnd) {
  auto input = TextInput::Open(File("abcdefgh"));
  ASSERT_TRUE(input) << input.error().message;

  EXPECT_EQ(input->size(), 8u);
  EXPECT_EQ(*input->Read(5), "abcde");
  EXPECT_EQ(*input->Read(5), "fgh");
  EXPECT_EQ(*input->Read(5), "");
  EXPECT_EQ(input->offset(), 8u);
}

TEST_F(TextInputTest, WhatIsNoRegularFileIsNamed) {
  const std::string fifo = (directory_ / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);

  EXPECT_EQ(TextInput::Open(fifo).error().message,
            fifo + ": expected a regular file, found a FIFO");
  EXPECT_EQ(TextInput::Open(directory_ / "none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(TextInput::Open(directory_.path()).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(TextInputTest, AFileWithoutASizeIsRefusedAndAnEmptyOneIsNot) {
  EXPECT_EQ(*ReadWholeInput(File(""), 3), "");
  for (const auto& error : {TextInput::Open("/proc/self/status").error(),
                            ReadWholeInput("/proc/self/status", 1 << 20).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message.find("/proc/self/status: nobody can tell how long it is"), 0U);
  }
}

TEST_F(TextInputTest, AWholeFileThatIsTooLargeIsRefused) {
  EXPECT_EQ(*ReadWholeInput(File("abc"), 3), "abc");
  EXPECT_FALSE(ReadWholeInput(File("abcd"), 3));
}

TEST_F(TextInputTest, PiecesEndBehindLineBreaks) {
  EXPECT_EQ(Pieces("one\ntwo\nthree", 9), (std::vector<std::string>{"one\ntwo\n", "three", ""}));
}

TEST_F(TextInputTest, PiecesDoNotEndInsideARunOfWhiteSpace) {
  EXPECT_EQ(Pieces("one\n\n  two", 6), (std::vector<std::string>{"one\n\n ", " two", ""}))
      << "no better place";
  EXPECT_EQ(Pieces("a\nb\n\n\nc", 6), (std::vector<std::string>{"a\n", "b\n\n\nc", ""}));
}

TEST_F(TextInputTest, PiecesDoNotEndInsideACharacter) {
  EXPECT_EQ(Pieces("\u00E4\u00E4\u00E4", 5),
            (std::vector<std::string>{"\u00E4\u00E4", "\u00E4", ""}));
  EXPECT_EQ(Pieces("x\nab\xF0\x9F\x98\x80", 6),
            (std::vector<std::string>{"x\n", "ab\U0001F600", ""}));
}

TEST_F(TextInputTest, BytesThatAreNoTextAreNamedWithTheirPlaceInTheFile) {
  const std::string where = (directory_ / "text").string();

  EXPECT_EQ(Pieces("aaaa\nbbbb\xFFxx", 6).back(),
            where + ": expected UTF-8, found byte 0xff at offset 9");
  EXPECT_EQ(Pieces("abc\xC3", 64).back(), where + ": expected UTF-8, found byte 0xc3 at offset 3")
      << "half a character at the end";
}

TEST_F(TextInputTest, AnEmptyFileHasNoPiece) {
  EXPECT_EQ(Pieces("", 64), std::vector<std::string>{""});
}

TEST_F(TextInputTest, ThePiecesHaveTheTokensOfTheWholeText) {
  const Tokenizer tokenizer = *testing_tokenizer::Parse(testing_tokenizer::Make());
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "hello world 000" + std::string(static_cast<size_t>(i % 4), '\n') +
            (i % 3 == 0 ? "\r\n" : "\n") + (i % 7 == 0 ? "  indented\n" : "abc. \n");
  }
  const std::vector<TokenId> whole = *tokenizer.Encode(text, SpecialTokens::kPlain);

  for (const size_t piece_bytes : {64U, 100U, 1000U}) {
    std::vector<TokenId> joined;
    const auto pieces = Pieces(text, piece_bytes);
    for (const std::string& piece : pieces) {
      const auto tokens = *tokenizer.Encode(piece, SpecialTokens::kPlain);
      joined.insert(joined.end(), tokens.begin(), tokens.end());
    }
    EXPECT_GT(pieces.size(), text.size() / piece_bytes);
    EXPECT_EQ(joined, whole);
  }
}

}  // namespace
}  // namespace coli
