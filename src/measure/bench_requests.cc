#include "measure/bench_requests.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include "measure/session.h"

namespace coli {

Result<RequestSize> ChooseRequestSize(const BenchSession& session, const Engine& engine) {
  RequestSize size = session.quick() ? RequestSize{32, 8} : RequestSize{512, 32};
  const uint32_t context = engine.context();
  if (context < size.prompt_tokens + size.answer_tokens) {
    size.answer_tokens = std::min(size.answer_tokens, context / 2);
    size.prompt_tokens = context - size.answer_tokens;
  }
  if (size.answer_tokens < 2) {
    return Fail(ErrorCode::kInvalidArgument,
                "a context to measure answers in: expected 4 positions or more, found {}", context);
  }
  return size;
}

Result<GenerationStats> BenchRequests::Next() {
  return Ask(RandomTokens(size_.prompt_tokens), size_.answer_tokens);
}

std::vector<TokenId> BenchRequests::RandomTokens(uint32_t count) {
  std::uniform_int_distribution<int32_t> token(
      0, static_cast<int32_t>(engine_.config().vocab_size) - 1);
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < count; ++i) {
    tokens.push_back(TokenId{token(generator_)});
  }
  return tokens;
}

Result<GenerationStats> BenchRequests::Ask(std::vector<TokenId> prompt, uint32_t answer_tokens,
                                           SessionHandle session) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = answer_tokens;
  request.ignore_end_of_sequence = true;  // every answer is of the same length
  request.sampling.temperature = 1;
  request.sampling.seed = generator_();
  request.session = std::move(session);
  COLI_ASSIGN_OR_RETURN(const std::shared_ptr<TokenStream> stream,
                        engine_.Submit(std::move(request)));
  COLI_ASSIGN_OR_RETURN(const GenerationResult result, Drain(*stream));
  if (result.reason == FinishReason::kCancelled) {
    return Fail(ErrorCode::kCancelled, "cancelled");
  }
  return result.stats;
}

Result<GenerationResult> BenchRequests::Drain(TokenStream& stream) {
  constexpr std::chrono::milliseconds kPoll{50};
  while (!std::holds_alternative<TokenStream::End>(stream.Next(kPoll))) {
    session_.ShowProgress();
    if (session_.cancelled()) {
      stream.Cancel();
    }
  }
  return stream.outcome();
}

}  // namespace coli
