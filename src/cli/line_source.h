// Lines of input: typed at a terminal with editing and history, or read as they come.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/interrupt.h"

namespace coli {

class LineSource {
 public:
  enum class Kind {
    kLine,
    kInterrupt,  // Ctrl-C
    kEnd,        // no more input, or SIGTERM or SIGHUP came
  };
  struct Line {
    Kind kind;
    std::string text;              // without the end of line; may hold newlines when it was pasted
    bool empty_interrupt = false;  // Ctrl-C came before anything was typed
  };

  virtual ~LineSource() = default;
  // Waits for a line. `prompt` is shown by sources that show something.
  virtual Line Read(std::string_view prompt) = 0;
  // A whole message goes to the history.
  virtual void Remember(std::string_view /*message*/) {}
};

// Reads a descriptor line by line; shows nothing.
std::unique_ptr<LineSource> MakePlainLines(int descriptor, SignalWatch& signals);

struct EditorOptions {
  bool prompt_on_stderr = false;  // standard output is not the terminal
  std::optional<std::filesystem::path>
      history;  // read now, written at the end (mode 0600); nothing: none kept
};

// The terminal with libedit: arrow keys, history, pasted lines as one message. Null when it cannot
// be used.
std::unique_ptr<LineSource> MakeLineEditor(const EditorOptions& options, SignalWatch& signals);

}  // namespace coli
