#include "engine/text_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/testing/golden.h"
#include "kernels/dispatch.h"

namespace coli {
namespace {

using testing::GoldenOptions;
using testing::LoadGolden;
using testing::Logits;
using testing::Tokens;

// The definition, in f64.
double PlainBits(const float* logits, size_t vocab, TokenId token) {
  double sum = 0;
  for (size_t i = 0; i < vocab; ++i) {
    sum += std::exp(static_cast<double>(logits[i]));
  }
  return std::log2(sum) - static_cast<double>(logits[Raw(token)]) / std::log(2.0);
}

// Scores a text of `tokens` in one piece.
TextScore Score(const EngineOptions& options, const std::vector<TokenId>& tokens,
                ScoreOptions score) {
  auto scorer = TextScorer::Create(options, std::move(score));
  EXPECT_TRUE(scorer.has_value()) << scorer.error().message;
  EXPECT_TRUE((*scorer)->Add(tokens).has_value());
  EXPECT_TRUE((*scorer)->Finish().has_value());
  return (*scorer)->score();
}

EngineOptions WithWindow(uint32_t window) {
  EngineOptions options = GoldenOptions("t0");
  options.context = window;
  return options;
}

// Every window's logits from a cache of its own, every token looked up by the definition.
TextScore SlowScore(const std::vector<TokenId>& text, const std::vector<TokenId>& beginning,
                    uint32_t window, uint32_t stride) {
  const auto model = LoadGolden(WithWindow(window));
  const size_t vocab = model->config().vocab_size;
  TextScore score;
  score.tokens = text.size();
  const size_t room = window - beginning.size();
  size_t scored = beginning.empty() ? 1 : 0;  // tokens of the text that need no score any more
  for (size_t begin = 0; scored < text.size(); begin += stride) {
    const size_t end = std::min(begin + room, text.size());
    std::vector<TokenId> ids = beginning;
    ids.insert(ids.end(), text.begin() + static_cast<std::ptrdiff_t>(begin),
               text.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<float> logits = Logits(*model, ids);
    for (; scored < end; ++scored, ++score.scored_tokens) {
      const size_t row = beginning.size() + scored - begin - 1;
      score.bits += PlainBits(logits.data() + row * vocab, vocab, text[scored]);
    }
  }
  return score;
}

TEST(InformationBits, IsTheLogarithmOfTheProbability) {
  const auto softmax = (*SelectKernels("scalar"))->vector.softmax;
  const std::vector<float> logits = {1.0F, 3.0F, -2.0F, 2.5F};
  std::vector<float> scratch;

  for (const int32_t token : {0, 1, 2, 3}) {
    EXPECT_NEAR(InformationBits(logits, TokenId{token}, softmax, scratch),
                PlainBits(logits.data(), logits.size(), TokenId{token}), 1e-6);
  }
}

TEST(InformationBits, TellsUnlikelyTokensApartWhoseProbabilityUnderflows) {
  const auto softmax = (*SelectKernels("scalar"))->vector.softmax;
  std::vector<float> scratch;

  EXPECT_NEAR(InformationBits(std::vector{0.0F, -200.0F}, TokenId{1}, softmax, scratch),
              200 / std::log(2.0), 1e-9);
}

TEST(InformationBits, IsNotFiniteWhenALogitIsNot) {
  const auto softmax = (*SelectKernels("scalar"))->vector.softmax;
  std::vector<float> scratch;

  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_FALSE(
        std::isfinite(InformationBits(std::vector{0.0F, bad, 1.0F}, TokenId{0}, softmax, scratch)));
  }
}

TEST(TextScorer, AgreesWithEachWindowComputedAlone) {
  const std::vector<TokenId> text = Tokens(50);
  for (const auto& beginning : {std::vector<TokenId>{}, Tokens(2, 7)}) {
    for (const uint32_t stride : {1U, 5U, 8U, 14U}) {
      const TextScore expected = SlowScore(text, beginning, 16, stride);

      const TextScore score = Score(WithWindow(16), text, {beginning, stride, {}});

      EXPECT_EQ(score.tokens, 50u);
      EXPECT_EQ(score.scored_tokens, beginning.empty() ? 49u : 50u);
      EXPECT_EQ(score.scored_tokens, expected.scored_tokens);
      EXPECT_NEAR(score.bits, expected.bits, 1e-5 * expected.bits) << "stride " << stride;
    }
  }
}

TEST(TextScorer, TheFiguresAreTheSameToTheLastBitWhateverTheMachineDoes) {
  const std::vector<TokenId> text = Tokens(40);
  const double expected = Score(WithWindow(16), text, {Tokens(2, 7), 6, {}}).bits;
  std::vector<EngineOptions> others(4, WithWindow(16));
  others[0].threads = 1;
  others[1].prefill_chunk = 3;
  others[2].cache_experts = 1;
  others[3].isa = "scalar";

  for (const EngineOptions& options : others) {
    EXPECT_EQ(Score(options, text, {Tokens(2, 7), 6, {}}).bits, expected);
  }
}

TEST(TextScorer, ThePiecesOfTheTextDoNotMatter) {
  const std::vector<TokenId> text = Tokens(40);
  const auto scorer = *TextScorer::Create(WithWindow(16), {{}, 6, {}});

  for (const TokenId token : text) {
    ASSERT_TRUE(scorer->Add({&token, 1}));
  }
  ASSERT_TRUE(scorer->Finish());

  EXPECT_EQ(scorer->score().bits, Score(WithWindow(16), text, {{}, 6, {}}).bits);
}

TEST(TextScorer, TheStrideDecidesHowMuchContextATokenHas) {
  const std::vector<TokenId> text = Tokens(40);

  EXPECT_NE(Score(WithWindow(16), text, {{}, 1, {}}).bits,
            Score(WithWindow(16), text, {{}, 15, {}}).bits);
}

TEST(TextScorer, TheStrideIsHalfOfTheWindowUnlessGiven) {
  EXPECT_EQ((*TextScorer::Create(WithWindow(16), {}))->stride(), 8u);
  EXPECT_EQ((*TextScorer::Create(WithWindow(3), {Tokens(2), 0, {}}))->stride(), 1u);
}

TEST(TextScorer, RefusesWhatTheWindowHasNoRoomFor) {
  const auto error = [](uint32_t window, ScoreOptions score) {
    const auto scorer = TextScorer::Create(WithWindow(window), std::move(score));
    return scorer ? "no error" : scorer.error().message;
  };

  EXPECT_EQ(error(16, {{}, 16, {}}),
            "stride: expected 1 to 15 tokens for a window of 16, found 16");
  EXPECT_EQ(error(16, {Tokens(2), 15, {}}),
            "stride: expected 1 to 14 tokens for a window of 16, found 15");
  EXPECT_EQ(error(2, {Tokens(2), 0, {}}),
            "the window: expected at least 3 tokens, 2 of them before the text, found 2");
}

TEST(TextScorer, TokensOutsideTheVocabularyAreRefused) {
  const auto scorer = *TextScorer::Create(WithWindow(16), {});
  const std::vector<TokenId> text = {TokenId{1}, TokenId{1 << 20}};

  const Status status = scorer->Add(text);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(status.error().message.find("token 1048576"), std::string::npos);
}

TEST(TextScorer, StopsWhenItIsCancelled) {
  const auto scorer = *TextScorer::Create(WithWindow(16), {{}, 0, [] { return true; }});

  const Status status = scorer->Add(Tokens(40));

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(scorer->score().scored_tokens, 0u);
}

TEST(TextScorer, ATextOfOneTokenHasNothingToScoreWithoutABeginning) {
  EXPECT_EQ(Score(WithWindow(16), Tokens(1), {}).scored_tokens, 0u);
  EXPECT_EQ(Score(WithWindow(16), Tokens(1), {Tokens(2), 0, {}}).scored_tokens, 1u);
}

}  // namespace
}  // namespace coli
