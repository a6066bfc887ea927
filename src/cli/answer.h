// One request from prompt to finished answer, shown while it arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/answer_reader.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "engine/engine.h"

namespace coli {

// Who watches an answer arrive. The default shows nothing.
class AnswerView {
 public:
  virtual ~AnswerView() = default;
  virtual void Prefill(uint64_t /*done*/, uint64_t /*total*/) {}
  virtual void Show(const AnswerDelta& /*delta*/) {}
  // False: nobody can see the answer any more, so it is not worth computing.
  virtual bool wanted() const { return true; }
};

// Who takes what arrives.
struct AnswerTakers {
  AnswerReader* reader = nullptr;  // keeps tokens and text
  AnswerView* view = nullptr;
  const SignalWatch* signals = nullptr;  // a signal stops the answer
};

struct AnswerRequest {
  GenerationRequest generation;
  AnswerTakers takers;
};

// How it went. Ended by a stop string: kStop.
struct AnswerOutcome {
  FinishReason reason = FinishReason::kStop;
  GenerationStats stats;
  uint32_t tokens = 0;  // that this request added
};

// Waits for the answer. Errors: whatever the engine refuses or meets; nothing has been shown when
// the request is refused, and what had come before an error is shown to its end and in the reader.
Result<AnswerOutcome> ReceiveAnswer(Engine& engine, AnswerRequest request);

// The same for a request that was submitted before; `prompt_tokens` is the length of its prompt.
Result<AnswerOutcome> FollowAnswer(TokenStream& stream, size_t prompt_tokens,
                                   const AnswerTakers& takers);

// How many tokens decode_s of the statistics was spent on: the first one comes with the prompt.
double TokensAfterTheFirst(const AnswerOutcome& outcome);

// "12 tokens, 35.2 tok/s, first after 0.21 s, prompt 24 (18 reused), 93 % of experts in RAM, 1.20
// MiB read, 85 MiB in use, limit: memory, stopped: end of answer" as its pieces.
std::vector<std::string> StatsPieces(const AnswerOutcome& outcome, uint64_t resident_bytes);

// "end of answer", "length (--max-tokens)": why an answer stopped, for people.
std::string_view StopText(FinishReason reason);

// Why there is nothing to read, if that is so: the answer ended inside the model's thinking.
std::optional<std::string_view> SilenceText(const AnswerReader& answer);

}  // namespace coli
