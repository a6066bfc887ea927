// One line that says how far a long step is.
//
// On a terminal the line is rewritten, at most four times a second, and removed at the end;
// elsewhere a plain line appears at most every 30 seconds. Steps of less than two seconds are
// silent. The share never goes back. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace coli {

enum class ProgressUnit : uint8_t { kBytes, kTokens, kPrompts, kMeasurements };

// "reading the prompt: 43 %, 310 of 720 tokens, 12 s left" in at most `columns`; details that do
// not fit are left out. `done` <= `total`; total 0: nobody knows how much there is. `left_s` < 0:
// not known yet. `beside`: what else goes on, the first thing to be left out.
std::string ProgressLine(std::string_view label, uint64_t done, uint64_t total, double left_s,
                         ProgressUnit unit, uint32_t columns, std::string_view beside = {});

// How long the rest takes at the same speed; < 0: not known yet.
double SecondsLeft(uint64_t done, uint64_t total, double passed_s);

class Progress {
 public:
  using Clock = std::function<std::chrono::duration<double>()>;

  // Writes to `output` (standard error) unless it is null. `clock` must not go back.
  Progress(Output* output, std::string label, ProgressUnit unit, Clock clock = SteadyClock());
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // total 0: not known. `beside` as in ProgressLine.
  void Update(uint64_t done, uint64_t total, std::string_view beside = {});
  // Removes a line that is shown; a later Update may show it again.
  void Clear();

  static Clock SteadyClock();

 private:
  bool Due(double now) const;

  Output* output_;
  std::string label_;
  ProgressUnit unit_;
  Clock clock_;
  double start_s_;
  double shown_s_ = -1;  // when a line was last written; < 0: never
  uint64_t done_ = 0;
  size_t line_width_ = 0;  // of the line on the terminal now
};

}  // namespace coli
