#include "cli/chat_input.h"

#include <cctype>
#include <utility>

namespace coli {
namespace {

constexpr std::string_view kFence = "\"\"\"";

std::string_view StripBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

std::optional<ChatCommand> ParseChatCommand(std::string_view line) {
  const std::string_view text = StripBlanks(line);
  if (text.size() < 2 || text.front() != ':' ||
      std::isalpha(static_cast<unsigned char>(text[1])) == 0) {
    return std::nullopt;
  }
  const std::string_view name = text.substr(1);
  if (name == "help" || name == "h") {
    return ChatCommand::kHelp;
  }
  if (name == "reset" || name == "r") {
    return ChatCommand::kReset;
  }
  if (name == "more" || name == "m") {
    return ChatCommand::kMore;
  }
  if (name == "stats" || name == "s") {
    return ChatCommand::kStats;
  }
  if (name == "quit" || name == "q") {
    return ChatCommand::kQuit;
  }
  return ChatCommand::kUnknown;
}

std::string_view ChatHelp() {
  return ":more    continue an answer that was cut\n"
         ":reset   forget the conversation\n"
         ":stats   where the time went\n"
         ":help    this text\n"
         ":quit    leave; Ctrl-D does the same\n"
         "Ctrl-C   stop the answer, keep the conversation\n"
         "\"\"\"      begin and end a message of several lines, or one that begins with :\n";
}

std::optional<std::string> MessageAssembler::Push(std::string_view line) {
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (!open_) {
    if (!line.starts_with(kFence)) {
      return std::string(line);
    }
    line.remove_prefix(kFence.size());
    open_ = true;
    if (line.empty()) {
      return std::nullopt;
    }
  }
  const size_t end = line.find(kFence);
  block_ += line.substr(0, end);
  if (end != std::string_view::npos) {
    return Rest();
  }
  block_ += '\n';
  return std::nullopt;
}

void MessageAssembler::Clear() {
  open_ = false;
  block_.clear();
}

std::string MessageAssembler::Rest() {
  open_ = false;
  if (block_.ends_with('\n')) {
    block_.pop_back();
  }
  return std::exchange(block_, {});
}

}  // namespace coli
