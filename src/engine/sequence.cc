#include "engine/sequence.h"

#include <algorithm>

namespace coli {
namespace {

double Seconds(Sequence::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Sequence::Sequence(GenerationRequest request, std::shared_ptr<TokenStream> stream)
    : request_(std::move(request)),
      stream_(std::move(stream)),
      tokens_(std::move(request_.prompt)),
      submitted_(Clock::now()) {
  if (!request_.session) {
    request_.session = std::make_shared<Session>();
  }
}

void Sequence::Start(const EngineState& state) {
  started_at_ = Clock::now();
  started_ = true;
  work_before_ = state.work;
  const auto prompt = static_cast<uint32_t>(tokens_.size());
  // The last prompt token is always computed: its row gives the first logits.
  computed_ = std::min(session().CommonPrefix(tokens_), prompt - 1);
  session().tokens.resize(computed_);
  session().busy = true;
  stats_.prompt_tokens = prompt;
  stats_.reused_tokens = computed_;
  stats_.queued_s = Seconds(started_at_ - submitted_);
  stream_->SetPrefilled(computed_);
}

void Sequence::Advance(uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) {
    session().tokens.push_back(tokens_[computed_ + i]);
  }
  computed_ += rows;
  if (in_prefill()) {
    stream_->SetPrefilled(computed_);
  }
}

bool Sequence::Accept(TokenId token, bool stop, uint32_t context) {
  const Clock::time_point now = Clock::now();
  if (generated_ == 0) {
    first_token_ = now;
    stats_.prefill_s = Seconds(now - started_at_);
    stats_.first_token_s = Seconds(now - submitted_);
  }
  stats_.decode_s = Seconds(now - first_token_);
  if (stop) {
    reason_ = FinishReason::kStop;
    return true;
  }
  tokens_.push_back(token);
  ++generated_;
  stats_.completion_tokens = generated_;
  stream_->Push(token);
  if (request_.max_tokens != 0 && generated_ == request_.max_tokens) {
    reason_ = FinishReason::kLength;
    return true;
  }
  if (tokens_.size() == context) {
    reason_ = FinishReason::kContext;
    return true;
  }
  return false;
}

bool Sequence::IsStop(TokenId token, std::span<const TokenId> ends) const {
  const auto holds = [&](std::span<const TokenId> ids) {
    return std::ranges::find(ids, token) != ids.end();
  };
  return holds(request_.stop_tokens) || (!request_.ignore_end_of_sequence && holds(ends));
}

void Sequence::Finish(FinishReason reason, const EngineState& state) {
  if (started_) {
    stats_.work = state.work - work_before_;
    stats_.memory_bytes_per_s = state.memory_bytes_per_s;
    stats_.cache_bytes = state.cache_bytes;
    stats_.cache_budget_bytes = state.cache_budget_bytes;
  }
  Release();
  stream_->Finish(GenerationResult{reason, stats_});
}

void Sequence::Fail(Error error) {
  Release();
  stream_->Finish(tl::unexpected<Error>(std::move(error)));
}

// A request that never started has no part in its session: another one may be using it.
void Sequence::Release() {
  if (started_) {
    session().busy = false;
  }
}

}  // namespace coli
