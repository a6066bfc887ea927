// The engine as its clients see it.

#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "engine/testing/golden.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using testing::GoldenOptions;
using testing::Tokens;

std::unique_ptr<Engine> Make(EngineOptions options) {
  auto engine = Engine::Create(options);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? *std::move(engine) : nullptr;
}

EngineOptions Several(const std::string& golden, uint32_t sequences) {
  EngineOptions options = GoldenOptions(golden);
  options.max_sequences = sequences;
  return options;
}

GenerationRequest Request(std::vector<TokenId> prompt, uint32_t max_tokens) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.seed = 7;
  return request;
}

struct Answer {
  std::vector<TokenId> tokens;
  FinishReason reason{};
  GenerationStats stats;
};

Answer Collect(TokenStream& stream) {
  Answer answer;
  while (true) {
    const TokenStream::Event event = stream.Next(std::chrono::seconds(30));
    if (const auto* token = std::get_if<TokenId>(&event)) {
      answer.tokens.push_back(*token);
      continue;
    }
    EXPECT_TRUE(std::holds_alternative<TokenStream::End>(event)) << "nothing happened for 30 s";
    break;
  }
  const auto& outcome = stream.outcome();
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  if (outcome) {
    answer.reason = outcome->reason;
    answer.stats = outcome->stats;
  }
  return answer;
}

Answer Ask(Engine& engine, GenerationRequest request) {
  auto stream = engine.Submit(std::move(request));
  EXPECT_TRUE(stream.has_value()) << stream.error().message;
  return stream ? Collect(**stream) : Answer{};
}

TEST(Engine, ASequenceAloneAndAmongFiveOthersGivesTheSameTokens) {
  const auto alone = Make(Several("t0", 1));
  const Answer expected = Ask(*alone, Request(Tokens(11), 20));
  const auto shared = Make(Several("t0", 6));

  std::vector<std::shared_ptr<TokenStream>> others;
  for (uint32_t i = 0; i < 5; ++i) {
    others.push_back(*shared->Submit(Request(Tokens(5 + 7 * i, 100 + i), 25)));
  }
  const Answer among = Ask(*shared, Request(Tokens(11), 20));
  for (const auto& other : others) {
    Collect(*other);
  }

  EXPECT_EQ(among.tokens, expected.tokens);
  EXPECT_EQ(among.tokens.size(), 20U);
}

TEST(Engine, ThePrefillChunkDoesNotChangeTheTokens) {
  const Answer expected = Ask(*Make(GoldenOptions("c-mixed")), Request(Tokens(30), 20));

  for (const uint32_t chunk : {1U, 3U, 7U}) {
    EngineOptions options = GoldenOptions("c-mixed");
    options.prefill_chunk = chunk;
    EXPECT_EQ(Ask(*Make(options), Request(Tokens(30), 20)).tokens, expected.tokens) << chunk;
  }
}

TEST(Engine, ASessionComputesTheCommonPrefixOnce) {
  const auto engine = Make(GoldenOptions("t0"));
  const SessionHandle session = engine->OpenSession();
  GenerationRequest first = Request(Tokens(12), 8);
  first.session = session;
  const Answer one = Ask(*engine, first);
  std::vector<TokenId> conversation = Tokens(12);
  conversation.insert(conversation.end(), one.tokens.begin(), one.tokens.end());
  const std::vector<TokenId> turn = Tokens(6, 9);
  conversation.insert(conversation.end(), turn.begin(), turn.end());

  GenerationRequest second = Request(conversation, 8);
  second.session = session;
  const Answer two = Ask(*engine, second);
  const Answer cold = Ask(*engine, Request(conversation, 8));

  EXPECT_EQ(one.stats.reused_tokens, 0U);
  EXPECT_EQ(two.stats.reused_tokens,
            12U + 8U - 1U);  // the row of the last generated token was never needed
  EXPECT_EQ(two.tokens, cold.tokens);
}

TEST(Engine, ASessionWhoseConversationWasChangedReusesOnlyWhatIsEqual) {
  const auto engine = Make(GoldenOptions("t0"));
  const SessionHandle session = engine->OpenSession();
  GenerationRequest first = Request(Tokens(20), 4);
  first.session = session;
  Ask(*engine, first);

  std::vector<TokenId> edited = Tokens(20);
  edited[9] = TokenId{Raw(edited[9]) + 1};
  GenerationRequest second = Request(edited, 8);
  second.session = session;
  const Answer answer = Ask(*engine, second);

  EXPECT_EQ(answer.stats.reused_tokens, 9U);
  EXPECT_EQ(answer.tokens, Ask(*engine, Request(edited, 8)).tokens);
}

TEST(Engine, MoreSessionsThanCachesStillAnswerRight) {
  const auto engine = Make(Several("t0", 2));
  std::vector<SessionHandle> sessions;
  for (uint32_t i = 0; i < 4; ++i) {
    sessions.push_back(engine->OpenSession());
  }

  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      GenerationRequest request = Request(Tokens(10, i), 5);
      request.session = sessions[i];
      EXPECT_EQ(Ask(*engine, request).tokens, Ask(*engine, Request(Tokens(10, i), 5)).tokens);
    }
  }
}

TEST(Engine, StopsAtMaxTokensAndAtTheEndOfTheContext) {
  const auto engine = Make(GoldenOptions("t0"));  // 64 positions

  EXPECT_EQ(Ask(*engine, Request(Tokens(5), 3)).reason, FinishReason::kLength);
  const Answer full = Ask(*engine, Request(Tokens(5), 64));
  EXPECT_EQ(full.reason, FinishReason::kContext);
  EXPECT_EQ(full.tokens.size(), 59U);
}

TEST(Engine, AStopTokenEndsTheAnswerAndIsNotPartOfIt) {
  const auto engine = Make(GoldenOptions("t0"));
  const Answer free = Ask(*engine, Request(Tokens(5), 10));
  ASSERT_EQ(free.tokens.size(), 10U);
  const auto first_use = std::ranges::find(free.tokens, free.tokens[6]) - free.tokens.begin();

  GenerationRequest request = Request(Tokens(5), 10);
  request.stop_tokens = {free.tokens[6]};
  const Answer stopped = Ask(*engine, request);

  EXPECT_EQ(stopped.reason, FinishReason::kStop);
  EXPECT_EQ(stopped.tokens,
            std::vector<TokenId>(free.tokens.begin(), free.tokens.begin() + first_use));
}

TEST(Engine, TheModelsEndMayBeATokenLikeOthers) {
  const Answer free = Ask(*Make(GoldenOptions("t0")), Request(Tokens(5), 10));
  ASSERT_EQ(free.tokens.size(), 10U);
  const testing::TempDirectory directory;
  EngineOptions options = GoldenOptions("t0");
  std::filesystem::copy(options.model_dir, directory.path());
  options.model_dir = directory.path();
  const std::filesystem::path config = directory.path() / "config.json";
  std::stringstream content;
  content << std::ifstream(config).rdbuf();
  std::string text = content.str();
  const std::string ends = "\"eos_token_id\": [\n  0\n ]";
  ASSERT_NE(text.find(ends), std::string::npos);
  text.replace(text.find(ends), ends.size(),
               fmt::format("\"eos_token_id\": [{}]", Raw(free.tokens[6])));
  std::ofstream(config) << text;
  const auto engine = Make(options);
  GenerationRequest request = Request(Tokens(5), 10);

  EXPECT_EQ(Ask(*engine, request).reason, FinishReason::kStop);
  request.ignore_end_of_sequence = true;
  EXPECT_EQ(Ask(*engine, request).tokens, free.tokens);
}

TEST(Engine, RefusesWhatItCannotAnswer) {
  const auto engine = Make(GoldenOptions("t0"));

  const auto code = [&](GenerationRequest request) {
    return engine->Submit(std::move(request)).error().code;
  };
  EXPECT_EQ(code(Request({}, 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Request({TokenId{-1}}, 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Request({TokenId{1 << 30}}, 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Request(Tokens(64), 1)), ErrorCode::kContextLength);
  EXPECT_EQ(code(Request(Tokens(80), 1)), ErrorCode::kContextLength);
  GenerationRequest cold = Request(Tokens(4), 1);
  cold.sampling.temperature = -1;
  EXPECT_EQ(code(cold), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Ask(*engine, Request(Tokens(63), 1)).tokens.size(), 1U);
}

TEST(Engine, CancelEndsOneAnswerAndNotTheOthers) {
  const auto engine = Make(Several("t0", 3));
  const Answer expected = Ask(*engine, Request(Tokens(9), 40));
  const auto cancelled = *engine->Submit(Request(Tokens(7, 3), 50));
  const auto other = *engine->Submit(Request(Tokens(9), 40));

  cancelled->Cancel();

  EXPECT_EQ(Collect(*cancelled).reason, FinishReason::kCancelled);
  EXPECT_EQ(Collect(*other).tokens, expected.tokens);
}

TEST(Engine, CancelledWhileQueuedNeverRuns) {
  const auto engine = Make(Several("t0", 1));
  const auto running = *engine->Submit(Request(Tokens(9), 50));
  const auto queued = *engine->Submit(Request(Tokens(9), 50));

  queued->Cancel();

  const Answer answer = Collect(*queued);
  EXPECT_EQ(answer.reason, FinishReason::kCancelled);
  EXPECT_TRUE(answer.tokens.empty());
  Collect(*running);
}

// The queued request must not take the cache of the running one with it.
TEST(Engine, CancellingAQueuedRequestLeavesTheRunningOneOfTheSameSessionAlone) {
  const auto engine = Make(Several("t0", 1));
  const Answer expected = Ask(*engine, Request(Tokens(9), 40));
  const SessionHandle session = engine->OpenSession();
  GenerationRequest first = Request(Tokens(9), 40);
  first.session = session;
  GenerationRequest second = Request(Tokens(12), 5);
  second.session = session;
  const auto running = *engine->Submit(first);
  const auto queued = *engine->Submit(second);
  const auto stranger = *engine->Submit(Request(Tokens(7, 5), 5));

  queued->Cancel();

  EXPECT_EQ(Collect(*running).tokens, expected.tokens);
  Collect(*queued);
  EXPECT_EQ(Collect(*stranger).tokens, Ask(*engine, Request(Tokens(7, 5), 5)).tokens);
}

TEST(Engine, DestructionEndsEveryStream) {
  std::vector<std::shared_ptr<TokenStream>> streams;
  {
    const auto engine = Make(Several("t0", 2));
    for (uint32_t i = 0; i < 6; ++i) {
      streams.push_back(*engine->Submit(Request(Tokens(20, i), 40)));
    }
  }

  for (const auto& stream : streams) {
    Collect(*stream);
  }
}

TEST(Engine, TwoEnginesInOneProcessDoNotDisturbEachOther) {
  const auto a = Make(GoldenOptions("t0"));
  const auto b = Make(GoldenOptions("c-mixed"));
  const auto stream_a = *a->Submit(Request(Tokens(9), 30));
  const auto stream_b = *b->Submit(Request(Tokens(9), 30));

  const Answer answer_a = Collect(*stream_a);
  const Answer answer_b = Collect(*stream_b);

  EXPECT_EQ(answer_a.tokens, Ask(*a, Request(Tokens(9), 30)).tokens);
  EXPECT_EQ(answer_b.tokens, Ask(*b, Request(Tokens(9), 30)).tokens);
}

TEST(Engine, StatsTellWhatHappened) {
  EngineOptions options = GoldenOptions("t0");
  options.cache_experts = 2;
  const auto engine = Make(options);

  const GenerationStats stats = Ask(*engine, Request(Tokens(10), 6)).stats;

  EXPECT_EQ(stats.prompt_tokens, 10U);
  EXPECT_EQ(stats.completion_tokens, 6U);
  EXPECT_GT(stats.work.steps().expert_misses, 0U);
  EXPECT_GT(stats.work.steps().bytes_read, 0U);
  EXPECT_GT(stats.first_token_s, 0.0);
  EXPECT_GT(stats.work.sampling_s, 0.0);
  EXPECT_LE(stats.work.prefill.seconds, stats.prefill_s);
  EXPECT_LE(stats.work.decode.seconds, stats.decode_s);
  for (const StepWork& work : {stats.work.prefill, stats.work.decode}) {
    EXPECT_GT(work.seconds, 0.0);
    EXPECT_GT(work.drive_s, 0.0);
    EXPECT_LE(work.wait_s, work.seconds);
    EXPECT_LE(work.overlap_s, work.drive_s + 1e-3);
    EXPECT_LE(work.overlap_s + work.wait_s, work.seconds + 1e-3);
  }
  EXPECT_GT(stats.cache_bytes, 0U);
  EXPECT_LE(stats.cache_bytes, stats.cache_budget_bytes);
}

TEST(Engine, EveryStepReadsItsWeights) {
  const auto engine = Make(GoldenOptions("t0"));
  const GenerationStats one = Ask(*engine, Request(Tokens(10), 1)).stats;
  const GenerationStats six = Ask(*engine, Request(Tokens(10), 6)).stats;
  // A step of the prompt, then five of one row.
  EXPECT_GT(one.work.weight_bytes, 0U);
  EXPECT_GT(six.work.weight_bytes, 3 * one.work.weight_bytes);
  EXPECT_EQ(six.memory_bytes_per_s, 0) << "too small to say anything about memory";
}

}  // namespace
}  // namespace coli
