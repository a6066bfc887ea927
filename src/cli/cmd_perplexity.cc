#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "cli/settings.h"
#include "cli/text_input.h"
#include "engine/text_scorer.h"

namespace coli {
namespace {

struct Figures {
  std::string file;
  uint64_t bytes = 0;         // of the text
  uint64_t scored_bytes = 0;  // less those of a first token that nothing foretells
  TextScore score;
  uint32_t window = 0;
  uint32_t stride = 0;
  double seconds = 0;

  double bits_per_byte() const { return score.bits / static_cast<double>(scored_bytes); }
  double bits_per_token() const { return score.bits / static_cast<double>(score.scored_tokens); }
  double tokens_per_second() const {
    return seconds > 0 ? static_cast<double>(score.tokens) / seconds : 0;
  }
};

std::string FiguresJson(const Figures& figures) {
  const OrderedJson json = {
      {"file", figures.file},
      {"bytes", figures.bytes},
      {"tokens", figures.score.tokens},
      {"scored_bytes", figures.scored_bytes},
      {"scored_tokens", figures.score.scored_tokens},
      {"bits_per_byte", figures.bits_per_byte()},
      {"bits_per_token", figures.bits_per_token()},
      {"perplexity", std::exp2(figures.bits_per_token())},
      {"window", figures.window},
      {"stride", figures.stride},
      {"stats",
       {{"seconds", figures.seconds}, {"tokens_per_second", figures.tokens_per_second()}}}};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string FiguresText(const Figures& figures) {
  return fmt::format(
      "{:.4f} bits per byte, {:.4f} bits per token, perplexity {:.3f}\n"
      "{} bytes, {} tokens; window {}, stride {}\n",
      figures.bits_per_byte(), figures.bits_per_token(), std::exp2(figures.bits_per_token()),
      figures.bytes, figures.score.tokens, figures.window, figures.stride);
}

// Takes a text through tokenizer and scorer, a piece at a time.
class Measurement {
 public:
  Measurement(CommandContext& context, const Tokenizer& tokenizer, TextScorer& scorer,
              SignalWatch& signals)
      : tokenizer_(tokenizer),
        scorer_(scorer),
        signals_(signals),
        progress_(context.notes(), "scoring the text", ProgressUnit::kBytes) {}

  Result<Figures> Run(TextPieces text) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    for (;;) {
      COLI_ASSIGN_OR_RETURN(const std::string piece, text.Next(&signals_));
      if (piece.empty()) {
        break;
      }
      COLI_RETURN_IF_ERROR(Add(piece, text.input()));
    }
    COLI_RETURN_IF_ERROR(scorer_.Finish([this] { ShowProgress(); }));
    figures_.file = text.input().name();
    figures_.score = scorer_.score();
    if (figures_.score.scored_tokens == 0) {
      return Fail(ErrorCode::kInvalidArgument, "{}: expected a text, found {}", figures_.file,
                  figures_.bytes == 0 ? "nothing" : "a single token, which nothing foretells");
    }
    figures_.scored_bytes =
        figures_.bytes - (figures_.score.scored_tokens < figures_.score.tokens ? first_bytes_ : 0);
    figures_.window = scorer_.window();
    figures_.stride = scorer_.stride();
    figures_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return figures_;
  }

 private:
  Status Add(const std::string& piece, const TextInput& input) {
    auto tokens = tokenizer_.Encode(piece, SpecialTokens::kPlain);
    if (!tokens) {
      return Wrap(tokens.error(), input.name());
    }
    if (figures_.bytes == 0 && !tokens->empty()) {
      first_bytes_ = tokenizer_.TokenBytes(tokens->front()).size();
    }
    figures_.bytes += piece.size();
    encoded_ += tokens->size();
    total_bytes_ = input.size().value_or(0);
    return scorer_.Add(*tokens, [this] { ShowProgress(); });
  }

  // In bytes, because nobody knows the number of tokens before the end.
  void ShowProgress() {
    const double share =
        static_cast<double>(scorer_.score().scored_tokens) / static_cast<double>(encoded_);
    progress_.Update(static_cast<uint64_t>(share * static_cast<double>(figures_.bytes)),
                     total_bytes_);
  }

  const Tokenizer& tokenizer_;
  TextScorer& scorer_;
  SignalWatch& signals_;
  Progress progress_;
  Figures figures_;
  uint64_t first_bytes_ = 0;  // of the first token
  uint64_t encoded_ = 0;      // tokens of the pieces so far
  uint64_t total_bytes_ = 0;  // of the text; 0: not known
};

// After a signal or an error: what was measured so far, for people; no figure that could be taken
// for the result.
void NotePart(CommandContext& context, const TextScore& score) {
  if (Output* notes = context.notes()) {
    const std::string so_far =
        score.scored_tokens == 0
            ? std::string("no token was scored")
            : fmt::format("{:.4f} bits per token over the first {} tokens",
                          score.bits / static_cast<double>(score.scored_tokens),
                          score.scored_tokens);
    notes->Write(fmt::format("coli: so far: {}\n", so_far));
  }
}

}  // namespace

Result<int> PerplexityCommand(CommandContext& context) {
  COLI_ASSIGN_OR_RETURN(TextInput input, TextInput::Open(*context.line.argument));
  if (input.size() == 0) {  // before the model, which may take minutes to load
    return Fail(ErrorCode::kInvalidArgument, "{}: expected a text, found nothing", input.name());
  }
  COLI_ASSIGN_OR_RETURN(const ChosenModel chosen, ChooseModelOf(context));
  std::optional<SignalWatch> signals;  // loading can be interrupted as if nobody watched
  ScoreOptions options;
  options.beginning = chosen.text.format.BeginningIds(chosen.text.tokenizer);
  options.stride = static_cast<uint32_t>(context.options.Integer("stride").value_or(0));
  options.cancelled = [&] { return signals && signals->came(); };
  COLI_ASSIGN_OR_RETURN(const std::unique_ptr<TextScorer> scorer,
                        LoadShown(context, [&](const LoadedModel::Progress& progress) {
                          return TextScorer::Create(
                              MakeEngineOptions(context.options, chosen.directory), options,
                              progress);
                        }));
  NoteMode(context, scorer->mode());
  NoteWarnings(context, scorer->config());
  NoteNotices(context, scorer->TakeNotices());
  signals.emplace(SignalWatch::Second::kEndsUs);
  const auto figures = Measurement(context, chosen.text.tokenizer, *scorer, *signals)
                           .Run(TextPieces(std::move(input)));
  NoteNotices(context, scorer->TakeNotices());
  if (!figures) {
    const bool cancelled = figures.error().code == ErrorCode::kCancelled;
    if (cancelled || scorer->score().scored_tokens > 0) {
      NotePart(context, scorer->score());
    }
    return cancelled ? Result<int>(StatusAfter(*signals))
                     : Result<int>(tl::unexpected<Error>(figures.error()));
  }
  context.out.Write(context.line.Has("json") ? FiguresJson(*figures) : FiguresText(*figures));
  return kExitOk;
}

}  // namespace coli
