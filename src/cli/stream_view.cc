#include "cli/stream_view.h"

#include <string>

#include "sys/memory_meter.h"

namespace coli {
namespace {

constexpr std::string_view kDim = "\x1B[2m";
constexpr std::string_view kPlain = "\x1B[0m";
constexpr uint32_t kOneLine = 1000;

}  // namespace

StreamView::StreamView(const StreamTargets& targets)
    : targets_(targets), progress_(targets.progress, "reading the prompt", ProgressUnit::kTokens) {}

void StreamView::Prefill(uint64_t done, uint64_t total) {
  if (!line_open_ && !in_reasoning_) {
    progress_.Update(done, total, targets_.beside ? targets_.beside() : std::string());
  }
}

void StreamView::Show(const AnswerDelta& delta) {
  progress_.Clear();
  if (!delta.reasoning.empty() && targets_.reasoning != nullptr) {
    ShowReasoning(delta.reasoning);
  }
  if (!delta.content.empty() && targets_.content != nullptr) {
    EndReasoning();
    targets_.content->WriteForeign(delta.content);
    line_open_ = !delta.content.ends_with('\n');
  }
}

void StreamView::ShowReasoning(const std::string& text) {
  Output& out = *targets_.reasoning;
  if (!in_reasoning_) {
    in_reasoning_ = true;
    out.Write(out.facts().color ? kDim : "[thinking] ");
  }
  out.WriteForeign(text);
}

void StreamView::EndReasoning() {
  if (in_reasoning_) {
    in_reasoning_ = false;
    targets_.reasoning->Write(targets_.reasoning->facts().color ? std::string(kPlain) + "\n"
                                                                : "\n");
  }
}

void StreamView::Close() {
  progress_.Clear();
  EndReasoning();
  if (line_open_) {
    targets_.content->Write("\n");
    line_open_ = false;
  }
}

void WriteStats(Output& output, const AnswerOutcome& outcome) {
  const TerminalFacts& facts = output.facts();
  const std::string text = JoinWithin(StatsPieces(outcome, ReadMemoryUse().resident_bytes),
                                      facts.is_terminal ? facts.columns : kOneLine);
  output.Write(facts.color ? std::string(kDim) + text + std::string(kPlain) + "\n" : text + "\n");
}

}  // namespace coli
