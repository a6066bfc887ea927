// Where output goes: descriptors written completely, what a terminal can do, and text that cannot
// harm it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"

namespace coli {

// What is behind a descriptor.
struct TerminalFacts {
  bool is_terminal = false;
  bool rewrites_lines = false;  // a line can be overwritten: a terminal that is not TERM=dumb
  bool color = false;           // rewrites_lines and neither NO_COLOR nor a choice against it
  uint32_t columns = 80;        // at least 20
};

enum class ColorChoice { kAuto, kAlways, kNever };

TerminalFacts InspectTerminal(int descriptor, const Environment& environment, ColorChoice color);

// Writes everything or remembers that it cannot. A reader that is gone (EPIPE) is no error: what
// follows is dropped. One thread at a time.
class Output {
 public:
  Output(int descriptor, const TerminalFacts& facts) : descriptor_(descriptor), facts_(facts) {}

  // False when nothing can be written any more; then error() is the errno of the first failure,
  // EPIPE for a closed pipe.
  bool Write(std::string_view text);
  // Text of the model or of a file: raw bytes, or made harmless when it goes to a terminal.
  bool WriteForeign(std::string_view text);

  bool usable() const { return error_ == 0; }
  int error() const { return error_; }
  const TerminalFacts& facts() const { return facts_; }

 private:
  int descriptor_;
  TerminalFacts facts_;
  int error_ = 0;
};

// Replaces control characters other than newline and tab by visible symbols: escape sequences in a
// model's answer must not reach the terminal. "\r\n" becomes a newline. `text` is UTF-8; characters
// are not split between calls.
std::string Harmless(std::string_view text);

// The same on one line, for errors: newlines become symbols, too, and a very long text loses its
// middle.
std::string OneLine(std::string_view text);

// The pieces joined with ", " in lines of at most `columns`, each line but the first indented.
std::string JoinWithin(const std::vector<std::string>& pieces, uint32_t columns);

}  // namespace coli
