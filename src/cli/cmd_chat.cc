#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/chat_input.h"
#include "cli/line_source.h"
#include "cli/settings.h"
#include "cli/stream_view.h"
#include "cli/work_report.h"

namespace coli {
namespace {

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// One chat: reads lines, answers messages, obeys commands.
class Chat {
 public:
  Chat(CommandContext& context, const OpenModel& model, SignalWatch& signals)
      : context_(context),
        model_(model),
        signals_(signals),
        interactive_(::isatty(STDIN_FILENO) != 0),
        lines_(MakeLines()),
        session_(model.engine->OpenSession()),
        conversation_(model.text, {context.options.Text("system"), context.options.On("think")}) {}

  int Run() {
    if (interactive_ && context_.notes() != nullptr) {
      context_.err.Write("Type a message; :help shows what else there is, Ctrl-D leaves.\n");
    }
    while (!left_ && context_.out.usable() && signals_.termination() == 0) {
      Step();
    }
    return signals_.termination() != 0 ? kExitSignal + signals_.termination() : status_;
  }

 private:
  std::unique_ptr<LineSource> MakeLines() {
    const bool out_edits = context_.out.facts().rewrites_lines;
    if (interactive_ && (out_edits || context_.err.facts().rewrites_lines)) {
      EditorOptions options;
      options.prompt_on_stderr = !out_edits;
      const auto folder = StateDirectory(context_);
      if (folder && !context_.options.On("no-history")) {
        options.history = *folder / "history";
      }
      if (auto editor = MakeLineEditor(options, signals_)) {
        return editor;
      }
    }
    prompts_itself_ = interactive_ && context_.out.facts().is_terminal;
    return MakePlainLines(STDIN_FILENO, signals_);
  }

  void Step() {
    const std::string_view prompt = assembler_.open() ? ". " : "> ";
    if (prompts_itself_) {
      context_.out.Write(prompt);
    }
    const LineSource::Line line = lines_->Read(prompt);
    switch (line.kind) {
      case LineSource::Kind::kLine:
        return Take(line.text);
      case LineSource::Kind::kInterrupt:
        return Interrupted(line.empty_interrupt);
      case LineSource::Kind::kEnd:
        left_ = true;
        if (assembler_.open() && signals_.termination() == 0) {
          Answer(assembler_.Rest());
        }
        return;
      case LineSource::Kind::kFailed:
        left_ = true;
        status_ = kExitFailed;
        context_.err.Write(OneLine("coli: standard input: " + line.text) + "\n");
    }
  }

  void Take(const std::string& line) {
    if (!assembler_.open()) {
      if (const auto command = ParseChatCommand(line)) {
        return Obey(*command, line);
      }
    }
    const auto message = assembler_.Push(line);
    if (message && !IsBlank(*message)) {
      lines_->Remember(*message);
      Answer(*message);
    }
  }

  void Interrupted(bool nothing_typed) {
    if (!interactive_) {
      left_ = true;
      status_ = kExitInterrupted;
    } else if (assembler_.open()) {
      assembler_.Clear();
    } else if (nothing_typed) {
      Say("To leave, press Ctrl-D or type :quit.");
    }
  }

  void Obey(ChatCommand command, std::string_view line) {
    switch (command) {
      case ChatCommand::kHelp:
        context_.err.Write(ChatHelp());
        break;
      case ChatCommand::kReset:
        conversation_.Reset();
        reader_.reset();
        Say("The conversation is forgotten.");
        break;
      case ChatCommand::kMore:
        More();
        break;
      case ChatCommand::kStats:
        ShowStats();
        break;
      case ChatCommand::kQuit:
        left_ = true;
        break;
      case ChatCommand::kUnknown:
        Say(fmt::format("Unknown command {}; :help lists them.", line));
        break;
    }
  }

  void ShowStats() {
    context_.err.Write(answers_ == 0 ? "Nothing was answered yet.\n"
                                     : WorkReport(last_stats_, all_stats_));
    if (const std::string warming = WarmingText(model_.engine->warming()); !warming.empty()) {
      Say(warming);
    }
  }

  void Answer(std::string message) {
    auto prompt = conversation_.Ask(std::move(message));
    if (!prompt) {
      return Complain(prompt.error());
    }
    reader_.emplace(model_.text.tokenizer,
                    AnswerReader::Options{false, conversation_.starts_in_reasoning(),
                                          context_.options.List("stop")});
    parts_ = 0;
    if (!Receive(*std::move(prompt))) {
      conversation_.TakeBack();
      reader_.reset();
    }
  }

  void More() {
    auto prompt = conversation_.More();
    if (!prompt || !reader_ || last_reason_ == FinishReason::kStop) {
      return Say("There is no answer to continue.");
    }
    if (last_reason_ == FinishReason::kContext) {
      return Advise(last_reason_);
    }
    ++parts_;
    Receive(*std::move(prompt));
  }

  // Shows an answer, or what is left of it. False when not a single token of the answer came.
  bool Receive(std::vector<TokenId> prompt) {
    StreamView view(Targets());
    AnswerRequest request{model_.Request(context_.options, std::move(prompt)),
                          {&*reader_, &view, &signals_}};
    request.generation.session = session_;
    request.generation.sampling.seed +=
        parts_;  // a continuation is not the same throw of dice again
    const auto outcome = ReceiveAnswer(*model_.engine, std::move(request));
    view.Close();
    NoteNotices(context_, model_.engine->TakeNotices());
    signals_.TakeInterrupt();
    if (!outcome) {
      Complain(outcome.error());
      return KeepPart();
    }
    last_reason_ = outcome->reason;
    ++answers_;
    last_stats_ = outcome->stats;
    AddStats(last_stats_, all_stats_);
    if (context_.notes() != nullptr && context_.out.usable()) {
      WriteStats(context_.err, *outcome);
    }
    if (reader_->ids().empty() && outcome->reason == FinishReason::kCancelled) {
      Say("Stopped before the answer began; the question is taken back.");
      return false;
    }
    conversation_.Answered(*reader_);
    if (const auto silence = SilenceText(*reader_); silence && context_.notes() != nullptr) {
      Say(*silence);
    }
    if (interactive_) {
      Advise(outcome->reason);
    }
    return true;
  }

  // What there is to do about an answer that was cut.
  void Advise(FinishReason reason) {
    if (reason == FinishReason::kLength) {
      Say(":more continues the answer.");
    } else if (reason == FinishReason::kContext) {
      Say("The context window is full; :reset starts a new conversation.");
    }
  }

  // After an error: what came of the answer stays, and :more may try to continue it.
  bool KeepPart() {
    if (reader_->ids().empty()) {
      return false;
    }
    last_reason_ = FinishReason::kCancelled;
    conversation_.Answered(*reader_);
    return true;
  }

  StreamTargets Targets() {
    StreamTargets targets;
    targets.content = &context_.out;
    targets.reasoning = context_.out.facts().is_terminal ? &context_.out : nullptr;
    targets.progress = context_.notes();
    targets.beside = [this] { return WarmingText(model_.engine->warming()); };
    return targets;
  }

  void Say(std::string_view text) { context_.err.Write(Harmless(text) + "\n"); }

  void Complain(const Error& error) {
    status_ = interactive_ ? kExitOk : kExitFailed;
    const char* advice =
        error.code == ErrorCode::kContextLength ? "; :reset starts a new conversation" : "";
    context_.err.Write(OneLine(fmt::format("coli: {}{}", error.message, advice)) + "\n");
  }

  CommandContext& context_;
  const OpenModel& model_;
  SignalWatch& signals_;
  const bool interactive_;       // somebody types
  bool prompts_itself_ = false;  // the line source does not show the prompt
  const std::unique_ptr<LineSource> lines_;
  const SessionHandle session_;
  Conversation conversation_;
  MessageAssembler assembler_;
  std::optional<AnswerReader> reader_;  // of the last answer
  FinishReason last_reason_ = FinishReason::kStop;
  uint64_t parts_ = 0;  // continuations of the last answer
  uint64_t answers_ = 0;
  GenerationStats last_stats_;
  GenerationStats all_stats_;
  bool left_ = false;
  int status_ = kExitOk;
};

}  // namespace

Result<int> ChatCommandLoop(CommandContext& context) {
  COLI_ASSIGN_OR_RETURN(const OpenModel model, LoadChosenModel(context, {.learns = true}));
  SignalWatch signals(SignalWatch::Second::kIsCaught);
  const int status = Chat(context, model, signals).Run();
  EndModel(context, model);
  return status;
}

}  // namespace coli
