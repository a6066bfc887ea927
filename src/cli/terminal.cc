#include "cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace coli {
namespace {

uint32_t Columns(int descriptor, const Environment& environment) {
  constexpr uint32_t kNarrowest = 20;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<uint32_t>(size.ws_col, kNarrowest);
  }
  uint32_t columns = 80;
  if (const auto text = environment("COLUMNS")) {
    std::from_chars(text->data(), text->data() + text->size(), columns);
  }
  return std::clamp<uint32_t>(columns, kNarrowest, 1000);
}

// U+2400 and following are pictures of the control characters.
void AppendPicture(unsigned char control, std::string& out) {
  out += "\xE2\x90";
  out += static_cast<char>(control == 0x7F ? 0xA1 : 0x80 + control);
}

}  // namespace

TerminalFacts InspectTerminal(int descriptor, const Environment& environment, ColorChoice color) {
  TerminalFacts facts;
  facts.is_terminal = isatty(descriptor) != 0;
  facts.rewrites_lines = facts.is_terminal && environment("TERM").value_or("dumb") != "dumb";
  facts.color = color == ColorChoice::kAlways ||
                (color == ColorChoice::kAuto && facts.rewrites_lines && !environment("NO_COLOR"));
  facts.columns = Columns(descriptor, environment);
  return facts;
}

bool Output::Write(std::string_view text) {
  while (!text.empty() && error_ == 0) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Somebody else made the shared description non-blocking.
      pollfd ready{descriptor_, POLLOUT, 0};
      ::poll(&ready, 1, 1000);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  return error_ == 0;
}

bool Output::WriteForeign(std::string_view text) {
  return facts_.is_terminal ? Write(Harmless(text)) : Write(text);
}

std::string Harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == '\r' && next == '\n') {
      continue;
    }
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      AppendPicture(byte, out);
    } else if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) {
      out += "\xEF\xBF\xBD";  // C1 controls have no pictures; some terminals obey them
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string OneLine(std::string_view text) {
  constexpr size_t kMaxBytes = 2000;
  constexpr std::string_view kCut = " ... ";
  std::string line;
  for (const char byte : Harmless(text)) {
    if (byte == '\n') {
      AppendPicture('\n', line);
    } else {
      line += byte;
    }
  }
  if (line.size() <= kMaxBytes) {
    return line;
  }
  const auto splits_character = [&](size_t at) {
    return (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80;
  };
  size_t begin = kMaxBytes / 2;
  while (begin > 0 && splits_character(begin)) {
    --begin;
  }
  size_t end = line.size() - (kMaxBytes / 2 - kCut.size());
  while (end < line.size() && splits_character(end)) {
    ++end;
  }
  return line.replace(begin, end - begin, kCut);
}

std::string JoinWithin(const std::vector<std::string>& pieces, uint32_t columns) {
  constexpr std::string_view kIndent = "  ";
  std::string out;
  size_t line = 0;  // columns used; pieces are ASCII
  for (const std::string& piece : pieces) {
    const size_t comma = out.empty() ? 0 : 1;
    if (!out.empty() && line + 2 + piece.size() + 1 > columns) {
      out += ",\n";
      out += kIndent;
      line = kIndent.size();
    } else if (comma != 0) {
      out += ", ";
      line += 2;
    }
    out += piece;
    line += piece.size();
  }
  return out;
}

}  // namespace coli
