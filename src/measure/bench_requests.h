// The requests whose speed is measured: random prompts of one length, answers of one length.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace coli {

class BenchSession;

struct RequestSize {
  uint32_t prompt_tokens;
  uint32_t answer_tokens;
};

// 512 and 32, or what a short context or a quick session allows. Error: kInvalidArgument for a
// context of fewer than 4 positions.
Result<RequestSize> ChooseRequestSize(const BenchSession& session, const Engine& engine);

// One request after the other to one engine. Both outlive it.
class BenchRequests {
 public:
  BenchRequests(BenchSession& session, Engine& engine, RequestSize size)
      : session_(session), engine_(engine), size_(size) {}

  // A prompt of random tokens and its answer, sampled so that answers differ. When the session is
  // cancelled, kCancelled.
  Result<GenerationStats> Next();
  // The answer to one prompt, in a session of its own if none is given.
  Result<GenerationStats> Ask(std::vector<TokenId> prompt, uint32_t answer_tokens,
                              SessionHandle session = nullptr);
  std::vector<TokenId> RandomTokens(uint32_t count);

 private:
  Result<GenerationResult> Drain(TokenStream& stream);

  BenchSession& session_;
  Engine& engine_;
  RequestSize size_;
  std::mt19937 generator_{1};
};

}  // namespace coli
