// One request on its way through the engine: which rows are computed, what was generated, when it
// ends. Engine thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "engine/token_stream.h"
#include "engine/work_times.h"

namespace coli {

// What the engine has done and has at one moment.
struct EngineState {
  WorkTimes work;
  double memory_bytes_per_s = 0;
  uint64_t cache_bytes = 0;
  uint64_t cache_budget_bytes = 0;
};

class Sequence {
 public:
  using Clock = std::chrono::steady_clock;

  Sequence(GenerationRequest request, std::shared_ptr<TokenStream> stream);

  // The session that holds the rows; a request without one gets one of its own.
  Session& session() const { return *request_.session; }
  const SessionHandle& shared_session() const { return request_.session; }
  TokenStream& stream() const { return *stream_; }
  const SamplingOptions& sampling() const { return request_.sampling; }

  // Admission: the cache is there; rows of the common prefix count as computed.
  void Start(const EngineState& state);

  // Tokens whose rows are not computed yet: more than one in prefill, one in decode.
  uint32_t pending() const { return static_cast<uint32_t>(tokens_.size()) - computed_; }
  uint32_t computed() const { return computed_; }
  TokenId token(uint32_t position) const { return tokens_[position]; }
  bool in_prefill() const { return generated_ == 0; }
  uint32_t generated() const { return generated_; }
  // A decoding sequence whose reader is behind waits, so that its stream stays bounded.
  bool stalled() const { return stream_->full(); }

  // `rows` more rows are in the cache.
  void Advance(uint32_t rows);
  // Takes the sampled token; true when the sequence has ended with it.
  // `stop`: the model's and the request's stop tokens contain it. `context`: positions per
  // sequence.
  bool Accept(TokenId token, bool stop, uint32_t context);
  // Whether `token` ends the answer: a stop token of the request, or one of the model's `ends`.
  bool IsStop(TokenId token, std::span<const TokenId> ends) const;

  // Closes the stream and gives the session back, with the rows that are valid.
  void Finish(FinishReason reason, const EngineState& state);
  void Fail(Error error);
  FinishReason reason() const { return reason_; }

 private:
  void Release();

  GenerationRequest request_;
  std::shared_ptr<TokenStream> stream_;
  std::vector<TokenId> tokens_;  // prompt and generated
  uint32_t computed_ = 0;        // rows in the cache
  uint32_t generated_ = 0;
  FinishReason reason_ = FinishReason::kStop;
  GenerationStats stats_;
  bool started_ = false;
  WorkTimes work_before_;  // of the engine, at admission
  Clock::time_point submitted_;
  Clock::time_point started_at_;
  Clock::time_point first_token_;
};

}  // namespace coli
