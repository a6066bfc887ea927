// What a user types in a chat: messages of one or several lines, and commands. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coli {

enum class ChatCommand { kHelp, kReset, kMore, kStats, kQuit, kUnknown };

// ":help" and the like, ":h", ":r", ":m", ":s", ":q"; nothing when the line is a message (":)" is).
std::optional<ChatCommand> ParseChatCommand(std::string_view line);
std::string_view ChatHelp();

// Puts lines together to messages: a line is one, unless it begins with """; then everything up to
// the next """ is. Thread-compatible.
class MessageAssembler {
 public:
  // The finished message, or nothing when more lines are needed. `line` is without its end; a
  // carriage return there is dropped.
  std::optional<std::string> Push(std::string_view line);
  bool open() const { return open_; }
  // Forgets a block that was begun.
  void Clear();
  // The end of the input: an open block as it is.
  std::string Rest();

 private:
  bool open_ = false;
  std::string block_;
};

}  // namespace coli
