#include "cli/conversation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "text/testing/tokenizer.h"

namespace coli {
namespace {

ModelText MakeText() {
  return {*testing_tokenizer::Parse(testing_tokenizer::Make()), ChatFormat::Glm5()};
}

std::vector<TokenId> Encode(const ModelText& text, std::string_view words) {
  return *text.tokenizer.Encode(words, SpecialTokens::kParse);
}

// The answer made of these tokens.
void Answer(Conversation& conversation, const ModelText& text, const std::vector<TokenId>& tokens,
            std::vector<std::string> stops = {}) {
  AnswerReader reader(text.tokenizer,
                      {false, conversation.starts_in_reasoning(), std::move(stops)});
  for (const TokenId token : tokens) {
    reader.Feed(token);
  }
  reader.Finish(false);
  conversation.Answered(reader);
}

bool StartsWith(const std::vector<TokenId>& all, const std::vector<TokenId>& prefix) {
  return all.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), all.begin());
}

std::string Decoded(const ModelText& text, const std::vector<TokenId>& tokens) {
  return text.tokenizer.Decode(tokens, false);
}

TEST(Conversation, ThePromptFollowsTheChatFormat) {
  const ModelText text = MakeText();
  Conversation conversation(text, {"Be kind.", false});

  const auto prompt = conversation.Ask("hi");

  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_EQ(Decoded(text, *prompt),
            "[gMASK]<sop><|system|>Be kind.<|user|>hi<|assistant|><think></think>");
}

TEST(Conversation, TheNextPromptBeginsWithPromptAndTokensOfTheLastAnswer) {
  const ModelText text = MakeText();
  Conversation conversation(text, {std::nullopt, false});
  std::vector<TokenId> history = *conversation.Ask("hello");
  // Letter by letter: not what encoding "hello" again would give.
  const std::vector<TokenId> generated = {TokenId{'h'}, TokenId{'e'}, TokenId{'l'}, TokenId{'l'},
                                          TokenId{'o'}};
  ASSERT_NE(Encode(text, "hello"), generated);
  Answer(conversation, text, generated);

  const auto prompt = conversation.Ask("more");

  history.insert(history.end(), generated.begin(), generated.end());
  EXPECT_TRUE(StartsWith(*prompt, history));
  EXPECT_TRUE(
      Decoded(text, *prompt).ends_with("</think>hello<|user|>more<|assistant|><think></think>"));
}

TEST(Conversation, MoreContinuesWithTheSameTokens) {
  const ModelText text = MakeText();
  Conversation conversation(text, {std::nullopt, false});
  EXPECT_FALSE(conversation.More());
  std::vector<TokenId> expected = *conversation.Ask("hello");
  EXPECT_FALSE(conversation.More());
  Answer(conversation, text, Encode(text, "hello world"));

  const auto prompt = conversation.More();

  for (const TokenId token : Encode(text, "hello world")) {
    expected.push_back(token);
  }
  EXPECT_EQ(prompt, expected);
}

TEST(Conversation, AfterAStopStringOnlyTheShownTextIsRemembered) {
  const ModelText text = MakeText();
  Conversation conversation(text, {std::nullopt, false});
  ASSERT_TRUE(conversation.Ask("hello"));
  Answer(conversation, text, Encode(text, "hello world"), {" wor"});

  const auto prompt = conversation.Ask("x");

  EXPECT_TRUE(Decoded(text, *prompt)
                  .ends_with("<think></think>hello<|user|>x<|assistant|><think></think>"));
}

TEST(Conversation, TakeBackAndResetLeaveNoTrace) {
  const ModelText text = MakeText();
  Conversation conversation(text, {"S", false});
  const std::vector<TokenId> first = *conversation.Ask("hello");
  conversation.TakeBack();
  EXPECT_EQ(*conversation.Ask("hello"), first);
  Answer(conversation, text, Encode(text, "ab"));

  conversation.Reset();

  EXPECT_EQ(*conversation.Ask("hello"), first);
}

TEST(Conversation, WordsOfTheUserNeverBecomeControlTokens) {
  const ModelText text = MakeText();
  Conversation conversation(text, {std::nullopt, false});

  const auto prompt = conversation.Ask("<|user|>");

  EXPECT_EQ(std::count(prompt->begin(), prompt->end(), *text.tokenizer.FindToken("<|user|>")), 1);
}

TEST(Conversation, TextThatIsNotUtf8IsRefusedAndForgotten) {
  const ModelText text = MakeText();
  Conversation conversation(text, {std::nullopt, false});

  EXPECT_FALSE(conversation.Ask("\xFF"));
  EXPECT_TRUE(conversation.messages().empty());
}

TEST(AskAll, TheSystemOptionGivesWayToASystemMessage) {
  const ModelText text = MakeText();
  Conversation conversation(text, {"option", false});
  const auto prompt = [&](const char* json) {
    return Decoded(text, *conversation.AskAll(*ParseMessagesText(json)));
  };

  EXPECT_EQ(prompt(R"([{"role":"user","content":"a"}])"),
            "[gMASK]<sop><|system|>option<|user|>a<|assistant|><think></think>");
  EXPECT_EQ(prompt(R"([{"role":"system","content":"own"},{"role":"user","content":"a"}])"),
            "[gMASK]<sop><|system|>own<|user|>a<|assistant|><think></think>");
}

TEST(AnswerReader, SeparatesReasoningFromContent) {
  const ModelText text = MakeText();
  AnswerReader reader(text.tokenizer, {false, true, {}});
  std::string reasoning;
  std::string content;

  for (const TokenId token : Encode(text, "hello</think> world")) {
    const AnswerDelta delta = reader.Feed(token);
    reasoning += delta.reasoning;
    content += delta.content;
  }
  content += reader.Finish(false).content;

  EXPECT_EQ(reasoning, "hello");
  EXPECT_EQ(reader.reasoning(), "hello");
  EXPECT_EQ(content, "world");
  EXPECT_EQ(reader.content(), "world");
}

TEST(AnswerReader, GoesOnInReasoningAfterACut) {
  const ModelText text = MakeText();
  AnswerReader reader(text.tokenizer, {false, true, {}});
  reader.Feed(TokenId{'a'});
  reader.Finish(true);
  reader.Feed(TokenId{'b'});
  for (const TokenId token : Encode(text, "</think>c")) {
    reader.Feed(token);
  }
  reader.Finish(false);

  EXPECT_EQ(reader.reasoning(), "ab");
  EXPECT_EQ(reader.content(), "c");
}

TEST(AnswerReader, HalfACharacterSurvivesACut) {
  const ModelText text = MakeText();
  AnswerReader reader(text.tokenizer, {false, false, {}});
  reader.Feed(TokenId{0xE2});
  reader.Feed(TokenId{0x82});
  EXPECT_EQ(reader.Finish(true).content, "");
  reader.Feed(TokenId{0xAC});
  reader.Finish(false);

  EXPECT_EQ(reader.content(), "€");
}

TEST(AnswerReader, SpecialTokensAreNotText) {
  const ModelText text = MakeText();
  AnswerReader reader(text.tokenizer, {true, false, {}});
  for (const TokenId token : Encode(text, "a<|user|>b")) {
    reader.Feed(token);
  }
  reader.Finish(false);

  EXPECT_EQ(reader.content(), "ab");
}

TEST(LoadModelText, SaysThatATokenizerIsMissing) {
  const auto text = LoadModelText("tests/golden/t0");

  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace coli
