#include "cli/answer.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "text/testing/tokenizer.h"

namespace coli {
namespace {

// Answers every request with the same bytes, one token each; after them it goes on with 'x' until
// it is cancelled.
class FakeEngine final : public Engine {
 public:
  FakeEngine(std::string answer, bool endless) : answer_(std::move(answer)), endless_(endless) {}

  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) override {
    auto stream = std::make_shared<TokenStream>();
    const auto prompt_tokens = static_cast<uint32_t>(request.prompt.size());
    worker_ = std::jthread([this, stream, prompt_tokens] {
      for (const char byte : answer_) {
        stream->Push(TokenId{static_cast<unsigned char>(byte)});
      }
      while (endless_ && !stream->cancelled()) {
        if (!stream->full()) {
          stream->Push(TokenId{'x'});
        }
      }
      GenerationResult result;
      result.reason = stream->cancelled() ? FinishReason::kCancelled : FinishReason::kStop;
      result.stats.prompt_tokens = prompt_tokens;
      stream->Finish(result);
    });
    return stream;
  }
  SessionHandle OpenSession() override { return nullptr; }
  const ModelConfig& config() const override { return config_; }
  uint32_t context() const override { return 4096; }

 private:
  std::string answer_;
  bool endless_;
  ModelConfig config_{};
  std::jthread worker_;
};

class CollectingView final : public AnswerView {
 public:
  void Show(const AnswerDelta& delta) override { text += delta.content; }
  bool wanted() const override { return text.size() < wanted_bytes; }
  std::string text;
  size_t wanted_bytes = SIZE_MAX;
};

class AnswerTest : public testing::Test {
 protected:
  Result<AnswerOutcome> Receive(FakeEngine& engine, std::vector<std::string> stops,
                                const SignalWatch* signals = nullptr) {
    reader_.emplace(tokenizer_, AnswerReader::Options{true, false, std::move(stops)});
    GenerationRequest generation;
    generation.prompt = {TokenId{1}, TokenId{2}};
    return ReceiveAnswer(engine, {std::move(generation), {&*reader_, &view_, signals}});
  }

  Tokenizer tokenizer_ = *testing_tokenizer::Parse(testing_tokenizer::Make());
  std::optional<AnswerReader> reader_;
  CollectingView view_;
};

TEST_F(AnswerTest, SilenceIsExplained) {
  AnswerReader reader(tokenizer_, {false, true, {}});
  EXPECT_FALSE(SilenceText(reader));  // nothing came at all
  const std::vector<TokenId> ids = tokenizer_.Encode("hm", SpecialTokens::kPlain).value();
  for (const TokenId id : ids) {
    reader.Feed(id);
  }
  reader.Finish(true);
  EXPECT_TRUE(SilenceText(reader));

  AnswerReader spoken(tokenizer_, {true, false, {}});
  for (const TokenId id : ids) {
    spoken.Feed(id);
  }
  spoken.Finish(false);
  EXPECT_FALSE(SilenceText(spoken));
}

TEST_F(AnswerTest, ShowsTheWholeAnswer) {
  FakeEngine engine("hello", false);

  const auto outcome = Receive(engine, {});

  ASSERT_TRUE(outcome);
  EXPECT_EQ(view_.text, "hello");
  EXPECT_EQ(outcome->reason, FinishReason::kStop);
  EXPECT_EQ(outcome->tokens, 5u);
}

TEST_F(AnswerTest, AStopStringEndsTheRequest) {
  FakeEngine engine("one. two", true);

  const auto outcome = Receive(engine, {". "});

  ASSERT_TRUE(outcome);
  EXPECT_EQ(view_.text, "one");
  EXPECT_EQ(outcome->reason, FinishReason::kStop);
}

TEST_F(AnswerTest, CtrlCEndsTheRequest) {
  FakeEngine engine("abc", true);
  const SignalWatch signals(SignalWatch::Second::kIsCaught);
  std::raise(SIGINT);

  const auto outcome = Receive(engine, {}, &signals);

  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->reason, FinishReason::kCancelled);
}

TEST_F(AnswerTest, NobodyWatchingEndsTheRequest) {
  FakeEngine engine("abc", true);
  view_.wanted_bytes = 100;

  const auto outcome = Receive(engine, {});

  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->reason, FinishReason::kCancelled);
}

TEST(StatsPieces, SayWhatHappened) {
  AnswerOutcome outcome;
  outcome.reason = FinishReason::kLength;
  outcome.tokens = 11;
  outcome.stats.prompt_tokens = 24;
  outcome.stats.reused_tokens = 18;
  outcome.stats.first_token_s = 0.214;
  outcome.stats.decode_s = 2;
  outcome.stats.work.prefill = {.expert_hits = 23, .expert_misses = 6, .bytes_read = 1 << 19};
  outcome.stats.work.decode = {
      .seconds = 2, .wait_s = 1.5, .expert_hits = 70, .expert_misses = 1, .bytes_read = 1 << 19};

  EXPECT_EQ(JoinWithin(StatsPieces(outcome, 85 << 20), 1000),
            "11 tokens, 5.00 tok/s, first after 0.21 s, prompt 24 (18 reused), "
            "experts 93 % from RAM, 1.00 MiB read, 85.0 MiB in use, limit: disk, "
            "stopped: --max-tokens reached");
}

TEST(SignalWatch, KeepsTerminationAndForgetsInterruptsOnceTaken) {
  SignalWatch signals(SignalWatch::Second::kIsCaught);
  EXPECT_FALSE(signals.TakeInterrupt());

  std::raise(SIGINT);
  std::raise(SIGTERM);

  EXPECT_TRUE(signals.interrupted());
  EXPECT_TRUE(signals.TakeInterrupt());
  EXPECT_FALSE(signals.TakeInterrupt());
  EXPECT_EQ(signals.termination(), SIGTERM);
}

}  // namespace
}  // namespace coli
