#include "engine/token_stream.h"

#include "base/check.h"

namespace coli {

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

TokenStream::Event TokenStream::Next(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return !tokens_.empty() || outcome_.has_value(); });
  if (!tokens_.empty()) {
    const TokenId token = tokens_.front();
    tokens_.pop_front();
    return token;
  }
  if (outcome_) {
    return End{};
  }
  return Timeout{};
}

const Result<GenerationResult>& TokenStream::outcome() const {
  const std::lock_guard lock(mutex_);
  COLI_CHECK(outcome_.has_value());
  return *outcome_;  // written once, never changed afterwards
}

bool TokenStream::full() const {
  const std::lock_guard lock(mutex_);
  return tokens_.size() >= kCapacity;
}

void TokenStream::Push(TokenId token) {
  {
    const std::lock_guard lock(mutex_);
    tokens_.push_back(token);
  }
  changed_.notify_one();
}

void TokenStream::Finish(Result<GenerationResult> outcome) {
  {
    const std::lock_guard lock(mutex_);
    COLI_CHECK(!outcome_.has_value());
    outcome_ = std::move(outcome);
  }
  changed_.notify_one();
}

}  // namespace coli
