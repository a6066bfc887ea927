#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "cli/answer.h"
#include "cli/line_source.h"
#include "cli/prompt_set.h"
#include "cli/settings.h"
#include "cli/text_input.h"
#include "engine/draft_acceptance.h"

namespace coli {
namespace {

struct Count {
  uint64_t right = 0;
  uint64_t prompts = 0;
  double share() const {
    return prompts == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(prompts);
  }
};

struct WrongAnswer {
  const JudgedPrompt* prompt;
  std::string answer;  // control tokens spelled out
};

struct Report {
  Count all;
  std::map<std::string, Count> kinds;
  std::vector<WrongAnswer> wrong;
  uint64_t cut = 0;  // answers that --max-tokens or the context ended
  uint64_t completion_tokens = 0;
  std::optional<DraftAcceptance> drafts;
  double seconds = 0;  // of answering
};

// The prompts of a set as tokens. Errors name the line.
Result<std::vector<std::vector<TokenId>>> EncodePrompts(const std::vector<JudgedPrompt>& prompts,
                                                        const OpenModel& model) {
  std::vector<std::vector<TokenId>> encoded;
  for (const JudgedPrompt& prompt : prompts) {
    ChatRequest request;
    request.messages = prompt.messages;
    request.tools = prompt.tools;
    request.format = model.text.format;
    request.options.enable_thinking = prompt.thinking;
    auto tokens = EncodeChat(model.text.tokenizer, request);
    if (!tokens) {
      return Wrap(tokens.error(), prompt.place);
    }
    if (tokens->size() >= model.engine->context()) {
      return Fail(ErrorCode::kContextLength,
                  "{}: the prompt has {} tokens and the context is {} positions: no room for an "
                  "answer",
                  prompt.place, tokens->size(), model.engine->context());
    }
    encoded.push_back(*std::move(tokens));
  }
  return encoded;
}

// Answers a prompt set, several prompts side by side, judged in their order.
class Questioning {
 public:
  Questioning(CommandContext& context, const OpenModel& model, const SignalWatch& signals)
      : context_(context),
        model_(model),
        signals_(signals),
        progress_(context.notes(), "answering", ProgressUnit::kPrompts) {}

  // `in_flight`: how many requests the engine may know at a time. Stops early after a signal.
  Status Run(const std::vector<JudgedPrompt>& prompts,
             const std::vector<std::vector<TokenId>>& encoded, size_t in_flight) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    std::deque<std::shared_ptr<TokenStream>> running;
    size_t submitted = 0;
    for (size_t i = 0; i < prompts.size(); ++i) {
      while (submitted < prompts.size() && running.size() < in_flight) {
        COLI_ASSIGN_OR_RETURN(auto stream, model_.engine->Submit(Greedy(encoded[submitted])));
        running.push_back(std::move(stream));
        ++submitted;
      }
      COLI_ASSIGN_OR_RETURN(const bool answered, Take(prompts[i], encoded[i], *running.front()));
      running.pop_front();
      if (!answered) {
        break;
      }
      progress_.Update(i + 1, prompts.size());
    }
    report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    progress_.Clear();
    return Ok();
  }

  Report& report() { return report_; }
  const std::vector<Transcript>& transcripts() const { return transcripts_; }

 private:
  GenerationRequest Greedy(const std::vector<TokenId>& prompt) const {
    GenerationRequest request = model_.Request(context_.options, prompt);
    request.sampling = {};
    request.sampling.temperature = 0;
    return request;
  }

  // Waits for an answer and judges it. False: a signal came first.
  Result<bool> Take(const JudgedPrompt& prompt, const std::vector<TokenId>& prompt_tokens,
                    TokenStream& stream) {
    AnswerReader reader(model_.text.tokenizer, {true, false, {}});
    AnswerView nobody;
    auto outcome = FollowAnswer(stream, prompt_tokens.size(), {&reader, &nobody, &signals_});
    if (!outcome) {
      return Wrap(outcome.error(), prompt.place);
    }
    if (outcome->reason == FinishReason::kCancelled) {
      return false;
    }
    Judge(prompt, model_.text.tokenizer.Decode(reader.ids(), false));
    report_.cut += outcome->reason == FinishReason::kStop ? 0U : 1U;
    report_.completion_tokens += outcome->tokens;
    Transcript transcript{prompt_tokens, static_cast<uint32_t>(prompt_tokens.size())};
    transcript.tokens.insert(transcript.tokens.end(), reader.ids().begin(), reader.ids().end());
    transcripts_.push_back(std::move(transcript));
    return true;
  }

  void Judge(const JudgedPrompt& prompt, std::string answer) {
    const bool starts_in_reasoning = model_.text.format.StartsInReasoning(prompt.thinking);
    const bool right = IsRight(prompt, answer, starts_in_reasoning);
    for (Count* count : {&report_.all, &report_.kinds[prompt.kind]}) {
      ++count->prompts;
      count->right += right ? 1U : 0U;
    }
    if (!right) {
      report_.wrong.push_back({&prompt, std::move(answer)});
    }
  }

  CommandContext& context_;
  const OpenModel& model_;
  const SignalWatch& signals_;
  Progress progress_;
  Report report_;
  std::vector<Transcript> transcripts_;
};

OrderedJson CountJson(const Count& count) {
  return {{"prompts", count.prompts}, {"right", count.right}, {"share", count.share()}};
}

std::string ReportJson(const Report& report, bool with_wrong) {
  OrderedJson json = CountJson(report.all);
  OrderedJson& kinds = json["kinds"] = OrderedJson::object();
  for (const auto& [kind, count] : report.kinds) {
    kinds[kind] = CountJson(count);
  }
  json["cut"] = report.cut;
  if (report.drafts) {
    const Count drafts{report.drafts->accepted, report.drafts->drafts};
    json["mtp"] = {
        {"drafts", drafts.prompts}, {"accepted", drafts.right}, {"share", drafts.share()}};
  }
  if (with_wrong) {
    OrderedJson& wrong = json["wrong"] = OrderedJson::array();
    for (const WrongAnswer& one : report.wrong) {
      wrong.push_back({{"place", one.prompt->place},
                       {"kind", one.prompt->kind},
                       {"prompt", one.prompt->messages.back().content},
                       {"answer", one.answer},
                       {"expect", one.prompt->expect}});
    }
  }
  json["stats"] = {{"completion_tokens", report.completion_tokens}, {"seconds", report.seconds}};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string CountText(std::string_view name, const Count& count, size_t width) {
  return fmt::format("{:<{}}  {:>6} of {:>6}  {:>5.1f} %\n", name, width, count.right,
                     count.prompts, 100 * count.share());
}

std::string WrongText(const WrongAnswer& wrong) {
  std::string expected;
  for (const std::string& text : wrong.prompt->expect) {
    expected += (expected.empty() ? "" : " | ") + text;
  }
  return OneLine(fmt::format("{} ({}): {}", wrong.prompt->place, wrong.prompt->kind,
                             wrong.prompt->messages.back().content)) +
         "\n  said:     " + OneLine(wrong.answer) + "\n  expected: " + OneLine(expected) + "\n";
}

std::string ReportText(const Report& report, bool with_wrong) {
  std::string text;
  if (with_wrong) {
    for (const WrongAnswer& wrong : report.wrong) {
      text += WrongText(wrong);
    }
  }
  size_t width = 4;
  for (const auto& [kind, count] : report.kinds) {
    width = std::max(width, kind.size());
  }
  for (const auto& [kind, count] : report.kinds) {
    text += CountText(OneLine(kind), count, width);
  }
  text += CountText("all", report.all, width);
  if (report.cut > 0) {
    text += fmt::format("cut by --max-tokens or the context: {} of the answers\n", report.cut);
  }
  if (report.drafts) {
    const Count drafts{report.drafts->accepted, report.drafts->drafts};
    text += fmt::format("first drafts of the MTP layer accepted: {} of {}, {:.1f} %\n",
                        drafts.right, drafts.prompts, 100 * drafts.share());
  }
  return text;
}

Result<DraftAcceptance> MeasureShown(CommandContext& context, const EngineOptions& options,
                                     const std::vector<Transcript>& transcripts,
                                     const SignalWatch& signals) {
  Progress loading(context.notes(), "loading the model", ProgressUnit::kBytes);
  std::optional<Progress> replay;  // its time begins when the model is there
  DraftWatch watch;
  watch.loading = [&](uint64_t done, uint64_t total) { loading.Update(done, total); };
  watch.replay = [&](uint64_t done, uint64_t total) {
    loading.Clear();
    if (!replay) {
      replay.emplace(context.notes(), "replaying the answers", ProgressUnit::kTokens);
    }
    replay->Update(done, total);
  };
  watch.cancelled = [&] { return signals.came(); };
  return MeasureDrafts(options, transcripts, watch);
}

// After a signal or an error: the count so far, for people; no report that could be taken for the
// result.
void NotePart(CommandContext& context, const Count& count) {
  if (Output* notes = context.notes()) {
    notes->Write(fmt::format("coli: so far: {} of the first {} prompts right\n", count.right,
                             count.prompts));
  }
}

}  // namespace

Result<int> AskCommand(CommandContext& context) {
  const std::string& file = *context.line.argument;
  COLI_ASSIGN_OR_RETURN(const std::string text, ReadWholeInput(file, kMaxInputBytes));
  COLI_ASSIGN_OR_RETURN(const std::vector<JudgedPrompt> prompts,
                        ParsePromptSet(text, file == "-" ? "standard input" : file));
  // More places than prompts would only take memory.
  const auto parallel = static_cast<uint32_t>(
      std::min<uint64_t>(*context.options.Integer("parallel"), prompts.size()));
  COLI_ASSIGN_OR_RETURN(
      OpenModel model, LoadChosenModel(context, {.sequences = parallel,
                                                 .held_bytes = kBytesPerPromptByte * text.size()}));
  EngineOptions replay = MakeEngineOptions(context.options, model.directory);
  replay.trace_routing.clear();  // that is of the answers
  const bool drafts = context.line.Has("mtp");
  if (drafts) {
    COLI_RETURN_IF_ERROR(CheckDrafting(replay));
  }
  COLI_ASSIGN_OR_RETURN(const auto encoded, EncodePrompts(prompts, model));
  const SignalWatch signals(SignalWatch::Second::kEndsUs);
  Questioning questioning(context, model, signals);
  // Twice as many as are computed, so that the engine always has the next one.
  const Status answered = questioning.Run(prompts, encoded, size_t{2} * parallel);
  EndModel(context, model);
  Report& report = questioning.report();
  if (!answered) {
    if (report.all.prompts > 0) {
      NotePart(context, report.all);
    }
    return tl::unexpected<Error>(answered.error());
  }
  Status drafted;
  if (drafts && !signals.came()) {
    model.engine.reset();  // its memory is for the model that drafts
    auto acceptance = MeasureShown(context, replay, questioning.transcripts(), signals);
    if (acceptance) {
      report.drafts = *acceptance;
    } else {
      drafted = tl::unexpected<Error>(std::move(acceptance).error());
    }
  }
  if (signals.came()) {
    NotePart(context, report.all);
    return StatusAfter(signals);
  }
  const bool show = context.line.Has("show");
  context.out.Write(context.line.Has("json") ? ReportJson(report, show) : ReportText(report, show));
  COLI_RETURN_IF_ERROR(drafted);  // the answers were worth their report all the same
  return kExitOk;
}

}  // namespace coli
