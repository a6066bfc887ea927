// An answer on its way to people: content, dimmed reasoning, a progress line while the prompt is
// read.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/answer.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace coli {

// Where the parts of an answer go; null: nowhere.
struct StreamTargets {
  Output* content = nullptr;
  Output* reasoning = nullptr;
  Output* progress = nullptr;
  std::function<std::string()> beside;  // what else goes on, for the progress line; empty: nothing
};

class StreamView final : public AnswerView {
 public:
  explicit StreamView(const StreamTargets& targets);

  void Prefill(uint64_t done, uint64_t total) override;
  void Show(const AnswerDelta& delta) override;
  // The reader of the content is gone.
  bool wanted() const override { return targets_.content == nullptr || targets_.content->usable(); }

  // The end: an unfinished line gets its newline.
  void Close();

 private:
  void ShowReasoning(const std::string& text);
  void EndReasoning();

  StreamTargets targets_;
  Progress progress_;
  bool in_reasoning_ = false;
  bool line_open_ = false;  // content does not end with a newline
};

// One line of numbers about an answer; dimmed where there are colors.
void WriteStats(Output& output, const AnswerOutcome& outcome);

}  // namespace coli
