#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "cli/line_source.h"
#include "cli/settings.h"
#include "cli/stream_view.h"
#include "cli/text_input.h"
#include "engine/limit.h"
#include "sys/memory_meter.h"

namespace coli {
namespace {

// What is to be answered: a prompt, or the JSON of a conversation.
struct RunInput {
  std::string text;
  std::string source;  // for errors
  bool messages = false;
};

// Exactly one of argument, --prompt-file and --messages; none of them means standard input.
Result<RunInput> ChooseInput(const CommandContext& context) {
  const CommandLine& line = context.line;
  const auto messages = line.Text("messages");
  auto file = line.Text("prompt-file");
  if (messages) {
    COLI_ASSIGN_OR_RETURN(std::string text, ReadWholeInput(*messages, kMaxInputBytes));
    return RunInput{std::move(text), *messages == "-" ? "standard input" : *messages, true};
  }
  if (!file && line.argument && *line.argument != "-") {
    return RunInput{*line.argument, "prompt", false};
  }
  COLI_ASSIGN_OR_RETURN(std::string text, ReadWholeInput(file.value_or("-"), kMaxInputBytes));
  // The newline that ends a line of text is not part of a question.
  if (!line.Has("raw") && text.ends_with('\n')) {
    text.pop_back();
    if (text.ends_with('\r')) {
      text.pop_back();
    }
  }
  return RunInput{std::move(text), file.value_or("standard input"), false};
}

// What is wrong with the combination of flags; empty: nothing.
std::string UsageFault(const CommandLine& line) {
  const int inputs = (line.argument ? 1 : 0) + (line.Text("prompt-file") ? 1 : 0) +
                     (line.Text("messages") ? 1 : 0);
  if (inputs > 1) {
    return "give one of a prompt, --prompt-file and --messages";
  }
  if (line.Has("raw") && line.Text("messages")) {
    return "--raw takes a prompt; --messages needs the chat format";
  }
  if (inputs == 0 && ::isatty(STDIN_FILENO) != 0) {
    return "a prompt is missing: coli run \"your question\"; to talk, use coli chat";
  }
  return {};
}

Result<std::vector<TokenId>> MakePrompt(const RunInput& input, bool raw, const ModelText& text,
                                        Conversation& conversation) {
  if (raw) {
    auto prompt = text.tokenizer.Encode(input.text, SpecialTokens::kParse);
    return prompt ? prompt : Wrap(prompt.error(), input.source);
  }
  if (!input.messages) {
    if (input.text.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: expected a question, found nothing",
                  input.source);
    }
    auto prompt = conversation.Ask(input.text);
    return prompt ? prompt : Wrap(prompt.error(), input.source);
  }
  COLI_ASSIGN_OR_RETURN(std::vector<Message> messages, ParseMessagesText(input.text, input.source));
  auto prompt = conversation.AskAll(std::move(messages));
  return prompt ? prompt : Wrap(prompt.error(), input.source);
}

OrderedJson WorkJson(const StepWork& work) {
  return {{"seconds", work.seconds},
          {"wait_s", work.wait_s},
          {"overlap_s", work.overlap_s},
          {"drive_s", work.drive_s},
          {"expert_hits", work.expert_hits},
          {"expert_misses", work.expert_misses},
          {"bytes_read", work.bytes_read},
          {"guesses_used", work.guesses_used},
          {"guesses_wasted", work.guesses_wasted}};
}

OrderedJson WorkJson(const GenerationStats& stats) {
  return {{"prefill", WorkJson(stats.work.prefill)},
          {"decode", WorkJson(stats.work.decode)},
          {"sampling_s", stats.work.sampling_s},
          {"weight_bytes", stats.work.weight_bytes},
          {"memory_bytes_per_s", stats.memory_bytes_per_s}};
}

OrderedJson StatsJson(const AnswerOutcome& outcome, uint64_t seed) {
  const GenerationStats& stats = outcome.stats;
  const double steps = TokensAfterTheFirst(outcome);
  const StepWork work = stats.work.steps();
  const auto limit = LimitOf(stats);
  return {{"prompt_tokens", stats.prompt_tokens},
          {"reused_tokens", stats.reused_tokens},
          {"completion_tokens", outcome.tokens},
          {"tokens_per_second", stats.decode_s > 0 ? steps / stats.decode_s : 0.0},
          {"queued_s", stats.queued_s},
          {"prefill_s", stats.prefill_s},
          {"first_token_s", stats.first_token_s},
          {"decode_s", stats.decode_s},
          {"expert_hits", work.expert_hits},
          {"expert_misses", work.expert_misses},
          {"bytes_read", work.bytes_read},
          {"io_wait_s", work.wait_s},
          {"work", WorkJson(stats)},
          {"limit", limit ? OrderedJson(LimitName(*limit)) : OrderedJson(nullptr)},
          {"resident_bytes", ReadMemoryUse().resident_bytes},
          {"seed", seed}};
}

std::string AnswerJson(const AnswerReader& reader, const AnswerOutcome& outcome, uint64_t seed) {
  OrderedJson ids = OrderedJson::array();
  for (const TokenId id : reader.ids()) {
    ids.push_back(Raw(id));
  }
  const OrderedJson answer = {{"text", reader.content()},
                              {"reasoning", reader.reasoning()},
                              {"token_ids", std::move(ids)},
                              {"finish_reason", FinishReasonName(outcome.reason)},
                              {"prompt_tokens", outcome.stats.prompt_tokens},
                              {"completion_tokens", outcome.tokens},
                              {"stats", StatsJson(outcome, seed)}};
  return answer.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

StreamTargets ChooseTargets(CommandContext& context, const Engine& engine, bool json) {
  StreamTargets targets;
  targets.progress = context.notes();
  targets.beside = [&engine] { return WarmingText(engine.warming()); };
  if (!json) {
    targets.content = &context.out;
    // Standard output is the answer only; people at a terminal may follow the reasoning on the
    // other one.
    targets.reasoning =
        context.notes() != nullptr && context.err.facts().is_terminal ? &context.err : nullptr;
  }
  return targets;
}

}  // namespace

Result<int> RunCommand(CommandContext& context) {
  if (const std::string fault = UsageFault(context.line); !fault.empty()) {
    context.err.Write("coli: " + fault + "\n");
    return kExitUsage;
  }
  COLI_ASSIGN_OR_RETURN(const RunInput input, ChooseInput(context));
  COLI_ASSIGN_OR_RETURN(
      const OpenModel model,
      LoadChosenModel(context,
                      {.held_bytes = kBytesPerPromptByte * input.text.size(), .learns = true}));
  const bool raw = context.line.Has("raw");
  const bool json = context.line.Has("json");
  Conversation conversation(model.text,
                            {context.options.Text("system"), context.options.On("think")});
  COLI_ASSIGN_OR_RETURN(std::vector<TokenId> prompt,
                        MakePrompt(input, raw, model.text, conversation));

  const SignalWatch signals(SignalWatch::Second::kEndsUs);
  AnswerReader reader(model.text.tokenizer,
                      {raw, conversation.starts_in_reasoning(), context.options.List("stop")});
  StreamView view(ChooseTargets(context, *model.engine, json));
  AnswerRequest request{model.Request(context.options, std::move(prompt)),
                        {&reader, &view, &signals}};
  const uint64_t seed = request.generation.sampling.seed;
  const auto outcome = ReceiveAnswer(*model.engine, std::move(request));
  view.Close();
  COLI_RETURN_IF_ERROR(outcome);
  if (json) {
    context.out.Write(AnswerJson(reader, *outcome, seed));
  }
  if (Output* notes = context.notes(); notes != nullptr && context.out.usable()) {
    WriteStats(*notes, *outcome);
    if (const auto silence = SilenceText(reader)) {
      notes->Write(fmt::format("coli: {}\n", *silence));
    }
  }
  EndModel(context, model);
  return StatusAfter(signals);
}

}  // namespace coli
