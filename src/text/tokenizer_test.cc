#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>

#include "text/testing/tokenizer.h"
#include "text/utf8.h"

namespace coli {
namespace {

using ::testing::HasSubstr;

Tokenizer Make(const Json& json = testing_tokenizer::Make()) {
  auto tokenizer = testing_tokenizer::Parse(json);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *std::move(tokenizer);
}

// The texts of the tokens, which say more in a failure than ids.
std::vector<std::string> Pieces(const Tokenizer& tokenizer, std::string_view text,
                                SpecialTokens mode = SpecialTokens::kParse) {
  const auto ids = tokenizer.Encode(text, mode);
  EXPECT_TRUE(ids) << ids.error().message;
  std::vector<std::string> pieces;
  for (const TokenId id : ids.value_or(std::vector<TokenId>{})) {
    pieces.emplace_back(tokenizer.TokenBytes(id));
  }
  return pieces;
}

std::string Refusal(const Json& json) {
  const auto tokenizer = testing_tokenizer::Parse(json);
  return tokenizer ? "accepted" : tokenizer.error().message;
}

std::string RefusalWith(std::string_view pointer, const Json& value) {
  Json json = testing_tokenizer::Make();
  json[Json::json_pointer(std::string(pointer))] = value;
  return Refusal(json);
}

std::string RandomText(std::mt19937& random) {
  static const std::vector<std::string> kParts = {
      "hello",        " world",     "he",       "ll",      "00",      "1",      " ",
      "  ",           "\n",         "\r\n",     "'s",      "'\u017f", "\u00e9", "e\u0301",
      "\u8702\u9e1f", "\U0001f426", "<|user|>", "<think>", "<",       "|",      "\u00a0",
      "\u180e",       "\u3000",     "ab",       "abc",     "A",       ".",      "\x01"};
  std::string text;
  for (size_t i = random() % 20; i > 0; --i) {
    if (random() % 4 == 0) {
      uint32_t c = static_cast<uint32_t>(random() % 0x110000);
      AppendUtf8(c >= 0xD800 && c <= 0xDFFF ? 'x' : c, text);
    } else {
      text += kParts[random() % kParts.size()];
    }
  }
  return text;
}

TEST(Tokenizer, MergesInsideWordsByRank) {
  const Tokenizer tokenizer = Make();

  EXPECT_THAT(Pieces(tokenizer, "hello world"), testing::ElementsAre("hello", " world"));
  EXPECT_THAT(Pieces(tokenizer, "abc"), testing::ElementsAre("ab", "c"));
  EXPECT_THAT(Pieces(tokenizer, "0000"), testing::ElementsAre("000", "0"));
  EXPECT_THAT(Pieces(tokenizer, "\u00e9"), testing::ElementsAre("\u00e9"));
  EXPECT_TRUE(Pieces(tokenizer, "").empty());
}

TEST(Tokenizer, MergesMayBeStringsOrPairs) {
  Json json = testing_tokenizer::Make();
  for (Json& merge : json["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }

  EXPECT_THAT(Pieces(Make(json), "hello world"), testing::ElementsAre("hello", " world"));
}

TEST(Tokenizer, IgnoreMergesTakesWholeWordsThatMergingCannotReach) {
  Json json = testing_tokenizer::Make();
  json["model"]["vocab"]["colibri"] = 500;
  EXPECT_EQ(Pieces(Make(json), "colibri").size(), 7u);

  json["model"]["ignore_merges"] = true;

  EXPECT_THAT(Pieces(Make(json), "colibri"), testing::ElementsAre("colibri"));
}

TEST(Tokenizer, AddedTokensAreFoundAnywhereLongestFirst) {
  Json json = testing_tokenizer::Make();
  json["added_tokens"].push_back(
      {{"id", 600}, {"content", "<|user|>x"}, {"special", true}, {"normalized", false}});
  const Tokenizer tokenizer = Make(json);

  EXPECT_THAT(Pieces(tokenizer, ".<|user|>he"), testing::ElementsAre(".", "<|user|>", "he"));
  EXPECT_THAT(Pieces(tokenizer, "  <|user|>xy"), testing::ElementsAre("  ", "<|user|>x", "y"));
  EXPECT_THAT(Pieces(tokenizer, "<|use<think>"),
              testing::ElementsAre("<", "|", "u", "s", "e", "<think>"));
}

TEST(Tokenizer, PlainTextNeverBecomesAnAddedToken) {
  const Tokenizer tokenizer = Make();
  const std::string text = "<|user|><think>[gMASK]";

  const auto ids = tokenizer.Encode(text, SpecialTokens::kPlain);

  ASSERT_TRUE(ids);
  for (const TokenId id : *ids) {
    EXPECT_LT(Raw(id), testing_tokenizer::kWords);
  }
  EXPECT_EQ(tokenizer.Decode(*ids, false), text);
}

TEST(Tokenizer, PlainTextDoesNotMeetControlTokensThroughWholeWordsEither) {
  Json json = testing_tokenizer::Make();
  json["model"]["ignore_merges"] = true;
  json["model"]["vocab"]["sop"] = 700;
  json["added_tokens"].push_back(
      {{"id", 700}, {"content", "sop"}, {"special", true}, {"normalized", false}});
  const Tokenizer tokenizer = Make(json);

  EXPECT_EQ(tokenizer.FindToken("sop"), TokenId{700});
  EXPECT_THAT(Pieces(tokenizer, "sop", SpecialTokens::kPlain), testing::ElementsAre("s", "o", "p"));
}

TEST(Tokenizer, StripFlagsTakeTheSpaceAroundTheToken) {
  Json json = testing_tokenizer::Make();
  json["added_tokens"].push_back(
      {{"id", 600}, {"content", "<l>"}, {"lstrip", true}, {"normalized", false}});
  json["added_tokens"].push_back(
      {{"id", 601}, {"content", "<r>"}, {"rstrip", true}, {"normalized", false}});
  const Tokenizer tokenizer = Make(json);

  EXPECT_THAT(Pieces(tokenizer, "a \u3000<l> b"), testing::ElementsAre("a", "<l>", " ", "b"));
  EXPECT_THAT(Pieces(tokenizer, "a <r> \n b"), testing::ElementsAre("a", " ", "<r>", "b"));
  EXPECT_THAT(Pieces(tokenizer, "<r>  <l>"), testing::ElementsAre("<r>", "<l>"));
}

TEST(Tokenizer, NfcIsAppliedWhenTheFileAsksForIt) {
  Json json = testing_tokenizer::Make();
  json["normalizer"] = {{"type", "NFC"}};
  json["added_tokens"].push_back({{"id", 600}, {"content", "e\u0301!"}, {"normalized", true}});
  const Tokenizer tokenizer = Make(json);

  EXPECT_THAT(Pieces(tokenizer, "e\u0301"), testing::ElementsAre("\u00e9"));
  EXPECT_EQ(tokenizer.Encode("\u00e9!", SpecialTokens::kParse).value(),
            std::vector<TokenId>{TokenId{600}});
  const auto too_many = tokenizer.Encode(
      [] {
        std::string text = "a";
        for (int i = 0; i < 300; ++i) {
          text += i % 2 == 0 ? "\u0301" : "\u0316";
        }
        return text;
      }(),
      SpecialTokens::kParse);
  ASSERT_FALSE(too_many);
  EXPECT_THAT(too_many.error().message, HasSubstr("combining characters in a row"));
}

TEST(Tokenizer, DecodingGivesTheTextBack) {
  const Tokenizer tokenizer = Make();
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = RandomText(random);
    for (const SpecialTokens mode : {SpecialTokens::kParse, SpecialTokens::kPlain}) {
      const auto ids = tokenizer.Encode(text, mode);
      ASSERT_TRUE(ids) << ids.error().message;
      ASSERT_EQ(tokenizer.Decode(*ids, false), text);
    }
  }
}

TEST(Tokenizer, DecodeReplacesWhatIsNoCharacterAndIgnoresUnknownIds) {
  const Tokenizer tokenizer = Make();
  const auto user = tokenizer.FindToken("<|user|>");
  ASSERT_TRUE(user);

  EXPECT_EQ(tokenizer.Decode(std::vector{TokenId{0xF0}, TokenId{0x9F}}, false), "\uFFFD");
  EXPECT_EQ(tokenizer.Decode(std::vector{TokenId{-1}, TokenId{1 << 30}, TokenId{'a'}}, false), "a");
  EXPECT_EQ(tokenizer.Decode(std::vector{TokenId{'a'}, *user, TokenId{'b'}}, true), "ab");
  EXPECT_EQ(tokenizer.Decode(std::vector{TokenId{'a'}, *user, TokenId{'b'}}, false), "a<|user|>b");
  EXPECT_EQ(tokenizer.TokenBytes(TokenId{-1}), "");
  EXPECT_TRUE(tokenizer.IsSpecial(*user));
  EXPECT_FALSE(tokenizer.IsSpecial(tokenizer.FindToken("<think>").value()));
  EXPECT_EQ(tokenizer.FindToken("no such token"), std::nullopt);
}

TEST(Tokenizer, TextMustBeUtf8) {
  const auto ids = Make().Encode("ab\xFF", SpecialTokens::kParse);

  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(ids.error().message, HasSubstr("expected UTF-8, found byte 0xff at offset 2"));
}

TEST(Tokenizer, WhatIsNotImplementedIsRefusedByName) {
  EXPECT_THAT(RefusalWith("/model/type", "Unigram"),
              HasSubstr("t.json: model.type: expected \"BPE\", found \"Unigram\""));
  EXPECT_THAT(RefusalWith("/normalizer", {{"type", "Lowercase"}}),
              HasSubstr("t.json: normalizer.type: expected \"NFC\", found \"Lowercase\""));
  EXPECT_THAT(RefusalWith("/pre_tokenizer", {{"type", "Metaspace"}}),
              HasSubstr("pre_tokenizer.type: "));
  EXPECT_THAT(RefusalWith("/pre_tokenizer", nullptr), HasSubstr("expected a ByteLevel step"));
  EXPECT_THAT(
      RefusalWith("/pre_tokenizer/pretokenizers/0/behavior", "Removed"),
      HasSubstr(
          "pre_tokenizer.pretokenizers[0].behavior: expected \"Isolated\", found \"Removed\""));
  EXPECT_THAT(RefusalWith("/pre_tokenizer/pretokenizers/1/add_prefix_space", true),
              HasSubstr("add_prefix_space"));
  EXPECT_THAT(RefusalWith("/decoder", {{"type", "WordPiece"}}), HasSubstr("decoder.type"));
  EXPECT_THAT(RefusalWith("/added_tokens/0/single_word", true),
              HasSubstr("added_tokens[0].single_word"));
  EXPECT_THAT(RefusalWith("/model/end_of_word_suffix", "</w>"),
              HasSubstr("model.end_of_word_suffix"));
  EXPECT_THAT(RefusalWith("/model/dropout", 0.1), HasSubstr("model.dropout"));
}

TEST(Tokenizer, AFileThatContradictsItselfIsRefusedNamingTheField) {
  EXPECT_THAT(RefusalWith("/model/vocab/zz", 5),
              HasSubstr("model.vocab: expected unique ids, found 5 for"));
  EXPECT_THAT(
      RefusalWith("/model/vocab/zz", -1),
      HasSubstr("t.json: model.vocab: token \"zz\": expected an id from 0 to 16777215, found -1"));
  EXPECT_THAT(RefusalWith("/model/vocab/zz", 1 << 24),
              HasSubstr("expected an id from 0 to 16777215"));
  EXPECT_THAT(RefusalWith("/model/vocab/zz", 18446744073709551615u),
              HasSubstr("expected an id from 0"));
  EXPECT_THAT(RefusalWith("/model/vocab/zz", 1.5), HasSubstr("expected an id"));
  EXPECT_THAT(RefusalWith("/model/vocab/zz", (1 << 24) - 1), HasSubstr("ids without a token"));
  EXPECT_THAT(RefusalWith("/model/vocab", nullptr), HasSubstr("model.vocab: expected an object"));
  EXPECT_THAT(RefusalWith("/model/vocab", {{"a", 0}}),
              HasSubstr("expected a token for every byte"));
  EXPECT_THAT(RefusalWith("/model/merges", "a b"), HasSubstr("model.merges: expected an array"));
  EXPECT_THAT(RefusalWith("/model/merges/0", "a b c"),
              HasSubstr("model.merges[0]: expected \"a b\""));
  EXPECT_THAT(RefusalWith("/model/merges/0", {"h", "q"}),
              HasSubstr("model.merges[0]: expected a token of model.vocab"));
  EXPECT_THAT(RefusalWith("/model/merges/0", {"h", 3}), HasSubstr("model.merges[0]"));
  EXPECT_THAT(RefusalWith("/model/merges/1", {"h", "e"}), HasSubstr("expected every pair once"));
  EXPECT_THAT(RefusalWith("/added_tokens/0/id", 5),
              HasSubstr("added_tokens[0].id: expected an id of its own"));
  EXPECT_THAT(RefusalWith("/added_tokens/0/content", "hello"),
              HasSubstr("added_tokens[0].id: model.vocab has"));
  EXPECT_THAT(RefusalWith("/added_tokens/0/content", ""), HasSubstr("added_tokens[0].content"));
  EXPECT_THAT(RefusalWith("/added_tokens/0/content", "<sop>"), HasSubstr("found \"<sop>\" again"));
  EXPECT_THAT(RefusalWith("/added_tokens/0/special", "yes"),
              HasSubstr("added_tokens[0].special: expected true or false"));
  EXPECT_THAT(Tokenizer::Parse("[]", "t.json").error().message,
              HasSubstr("t.json: expected an object"));
  EXPECT_THAT(Tokenizer::Parse("{", "t.json").error().message, HasSubstr("t.json: byte 1"));
}

TEST(Tokenizer, AFileCutShortAnywhereIsRefused) {
  const std::string text = testing_tokenizer::Make().dump();

  for (size_t length = 0; length < text.size(); ++length) {
    const auto tokenizer = Tokenizer::Parse(text.substr(0, length), "t.json");
    ASSERT_FALSE(tokenizer) << length;
    EXPECT_THAT(tokenizer.error().message, HasSubstr("t.json: "));
  }
}

TEST(Tokenizer, TokensHaveASizeLimit) {
  EXPECT_THAT(RefusalWith("/model/vocab/" + std::string(70000, 'a'), 900),
              HasSubstr("1 to 65536 bytes, found 70000"));
}

TEST(Tokenizer, AddedTokensThatMergingCouldSpellAreRefused) {
  for (const bool special : {true, false}) {
    Json json = testing_tokenizer::Make();
    json["added_tokens"].push_back({{"id", 259}, {"content", "hello"}, {"special", special}});

    EXPECT_THAT(Refusal(json),
                HasSubstr("model.merges[3]: expected a result that is no added token"));
  }
}

TEST(Tokenizer, ByteLevelMaySplitByItsOwnPattern) {
  Json json = testing_tokenizer::Make();
  json["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};

  // Its words of digits are not cut after three.
  EXPECT_THAT(Pieces(Make(json), "0000 world"), testing::ElementsAre("00", "00", " world"));
}

TEST(Tokenizer, OneTokenizerServesManyThreads) {
  const Tokenizer tokenizer = Make();
  const auto expected = tokenizer.Encode("hello world <think> 000", SpecialTokens::kParse).value();
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        good[t] +=
            tokenizer.Encode("hello world <think> 000", SpecialTokens::kParse).value() == expected
                ? 1
                : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }

  EXPECT_THAT(good, testing::Each(200));
}

}  // namespace
}  // namespace coli
