// The way out of the engine: tokens of one request, with back-pressure and cancellation.
//
// One of the two objects that engine thread and clients share (the other is the request queue).
// Thread-safe: one producer (the engine), one consumer, Cancel from anywhere.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/result.h"
#include "engine/work_times.h"

namespace coli {

enum class FinishReason : uint8_t {
  kStop,       // the model ended its answer with a stop token
  kLength,     // max_tokens reached
  kContext,    // the context window is full
  kCancelled,  // whoever asked cancelled
};
std::string_view FinishReasonName(FinishReason reason);  // "stop", "length", "context", "cancelled"

// How one request went.
struct GenerationStats {
  uint32_t prompt_tokens = 0;
  uint32_t reused_tokens = 0;      // prompt tokens whose KV was there already
  uint32_t completion_tokens = 0;  // the stop token not counted
  double queued_s = 0;             // from Submit to admission
  double prefill_s = 0;
  double first_token_s = 0;         // from Submit to the first token
  double decode_s = 0;              // from the first token to the end
  WorkTimes work;                   // of the whole engine while this request ran
  double memory_bytes_per_s = 0;    // how fast this machine reads memory; 0: not known
  uint64_t cache_bytes = 0;         // of experts in RAM when the request ended
  uint64_t cache_budget_bytes = 0;  // that they may take
};

struct GenerationResult {
  FinishReason reason = FinishReason::kStop;
  GenerationStats stats;
};

class TokenStream {
 public:
  static constexpr size_t kCapacity =
      256;  // tokens that may wait; a full stream pauses its sequence, nobody else

  struct Timeout {};  // nothing happened within the time given
  struct End {};      // no more tokens: see outcome()
  using Event = std::variant<TokenId, Timeout, End>;

  // --- consumer ---
  Event Next(std::chrono::milliseconds timeout);
  // Asks the engine to stop; it does within one layer. Tokens already in the queue can still be
  // read.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // How the request ended; only after Next gave End.
  const Result<GenerationResult>& outcome() const;
  // Prompt rows computed so far, for a progress line.
  uint32_t prefilled() const { return prefilled_.load(std::memory_order_relaxed); }

  // --- engine ---
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  bool full() const;
  void Push(TokenId token);
  void Finish(Result<GenerationResult> outcome);
  void SetPrefilled(uint32_t rows) { prefilled_.store(rows, std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TokenId> tokens_;
  std::optional<Result<GenerationResult>> outcome_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint32_t> prefilled_{0};
};

}  // namespace coli
