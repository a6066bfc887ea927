#include "cli/answer.h"

#include <chrono>
#include <utility>
#include <variant>

#include "cli/human.h"
#include "engine/limit.h"

namespace coli {
namespace {

// How long a Ctrl-C may go unnoticed.
constexpr std::chrono::milliseconds kPoll{50};

bool ShouldStop(const AnswerTakers& takers) {
  const SignalWatch* signals = takers.signals;
  return !takers.view->wanted() || (signals != nullptr && signals->came());
}

}  // namespace

Result<AnswerOutcome> ReceiveAnswer(Engine& engine, AnswerRequest request) {
  const size_t prompt_tokens = request.generation.prompt.size();
  COLI_ASSIGN_OR_RETURN(const std::shared_ptr<TokenStream> stream,
                        engine.Submit(std::move(request.generation)));
  return FollowAnswer(*stream, prompt_tokens, request.takers);
}

Result<AnswerOutcome> FollowAnswer(TokenStream& stream, size_t prompt_tokens,
                                   const AnswerTakers& takers) {
  AnswerReader& reader = *takers.reader;
  AnswerView& view = *takers.view;
  const size_t tokens_before = reader.ids().size();
  bool cancelled = false;
  for (;;) {
    if (ShouldStop(takers)) {
      stream.Cancel();
      cancelled = true;
    }
    const TokenStream::Event event = stream.Next(kPoll);
    if (std::holds_alternative<TokenStream::End>(event)) {
      break;
    }
    const TokenId* token = std::get_if<TokenId>(&event);
    if (token == nullptr) {
      view.Prefill(stream.prefilled(), prompt_tokens);
    } else if (!cancelled && !reader.stopped()) {
      view.Show(reader.Feed(*token));
      if (reader.stopped()) {
        stream.Cancel();
      }
    }
  }
  if (!stream.outcome()) {
    view.Show(reader.Finish(true));
    return tl::unexpected(stream.outcome().error());
  }
  AnswerOutcome outcome;
  outcome.reason = reader.stopped() ? FinishReason::kStop : stream.outcome()->reason;
  outcome.stats = stream.outcome()->stats;
  outcome.tokens = static_cast<uint32_t>(reader.ids().size() - tokens_before);
  view.Show(reader.Finish(outcome.reason != FinishReason::kStop));
  return outcome;
}

double TokensAfterTheFirst(const AnswerOutcome& outcome) {
  return outcome.tokens > 1 ? outcome.tokens - 1.0 : 0.0;
}

std::vector<std::string> StatsPieces(const AnswerOutcome& outcome, uint64_t resident_bytes) {
  const GenerationStats& stats = outcome.stats;
  std::vector<std::string> pieces;
  pieces.push_back(fmt::format("{} token{}", outcome.tokens, outcome.tokens == 1 ? "" : "s"));
  pieces.push_back(FormatRate(TokensAfterTheFirst(outcome), stats.decode_s));
  pieces.push_back(fmt::format("first after {}", FormatDuration(stats.first_token_s)));
  pieces.push_back(fmt::format("prompt {} ({} reused)", stats.prompt_tokens, stats.reused_tokens));
  const StepWork work = stats.work.steps();
  if (const uint64_t uses = work.expert_uses(); uses > 0) {
    const double share = static_cast<double>(work.expert_hits) / static_cast<double>(uses);
    pieces.push_back(fmt::format("experts {:.0f} % from RAM", 100 * share));
  }
  pieces.push_back(fmt::format("{} read", FormatBytes(work.bytes_read)));
  pieces.push_back(fmt::format("{} in use", FormatBytes(resident_bytes)));
  if (const auto limit = LimitOf(stats)) {
    pieces.push_back(fmt::format("limit: {}", LimitName(*limit)));
  }
  pieces.push_back(fmt::format("stopped: {}", StopText(outcome.reason)));
  return pieces;
}

std::string_view StopText(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "end of answer";
    case FinishReason::kLength:
      return "--max-tokens reached";
    case FinishReason::kContext:
      return "context window full";
    case FinishReason::kCancelled:
      return "interrupted";
  }
  return {};
}

std::optional<std::string_view> SilenceText(const AnswerReader& answer) {
  if (!answer.content().empty() || answer.reasoning().empty()) {
    return std::nullopt;
  }
  return "The answer ended inside the model's thinking; nothing was said.";
}

}  // namespace coli
