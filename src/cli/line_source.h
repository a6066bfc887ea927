// Lines of input: typed at a terminal with editing and history, or read as they come.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/interrupt.h"

namespace coli {

// The most bytes of a prompt, or of a line of a conversation.
inline constexpr size_t kMaxInputBytes = size_t{64} << 20;

class LineSource {
 public:
  enum class Kind {
    kLine,
    kInterrupt,  // Ctrl-C
    kEnd,        // no more input, or SIGTERM or SIGHUP came
    kFailed,     // nothing more can be read; the text says why
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

// Reads standard input line by line; shows nothing. A line of more than `max_line_bytes` is
// kFailed. The descriptor is a parameter for tests.
std::unique_ptr<LineSource> MakePlainLines(int descriptor, SignalWatch& signals,
                                           size_t max_line_bytes = kMaxInputBytes);

struct EditorOptions {
  bool prompt_on_stderr = false;  // standard output is not the terminal
  std::optional<std::filesystem::path>
      history;  // read now, written at the end (mode 0600); nothing: none kept
};

// The terminal with libedit: arrow keys, history, pasted lines as one message. Null when it cannot
// be used, or the terminal claims a size that none has: libedit would allocate all of it.
std::unique_ptr<LineSource> MakeLineEditor(const EditorOptions& options, SignalWatch& signals);

}  // namespace coli
