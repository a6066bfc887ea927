#include "cli/text_input.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "sys/read_loop.h"
#include "text/utf8.h"

namespace coli {
namespace {

// Waits until standard input has something or a signal came; false for the signal. Somebody else
// may have made the shared description non-blocking, so a read alone need not wait.
bool AwaitInput(SignalWatch* signals) {
  std::array<pollfd, 2> ready{{{STDIN_FILENO, POLLIN, 0},
                               {signals == nullptr ? -1 : signals->wake_descriptor(), POLLIN, 0}}};
  ::poll(ready.data(), ready.size(), -1);
  if (signals == nullptr) {
    return true;
  }
  signals->DrainWakeups();
  return !signals->came();
}

Result<std::string> ReadStandardInput(size_t bytes, SignalWatch* signals) {
  std::string text(bytes, '\0');
  size_t filled = 0;
  while (filled < bytes) {
    if (!AwaitInput(signals)) {
      return Fail(ErrorCode::kCancelled, "interrupted");
    }
    const ssize_t count = ::read(STDIN_FILENO, text.data() + filled, bytes - filled);
    if (count == 0) {
      break;
    }
    if (count < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
      return Fail(ErrorCode::kIo, "standard input: {}", SystemErrorText(errno));
    }
    filled += count > 0 ? static_cast<size_t>(count) : 0;
  }
  text.resize(filled);
  return text;
}

tl::unexpected<Error> TooLong(const TextInput& input, size_t max_bytes) {
  return Fail(ErrorCode::kInvalidArgument, "{}: expected at most {} bytes, found more",
              input.name(), max_bytes);
}

// Behind the last line break that something other than white space follows; 0: there is none.
size_t LastLineEnd(std::string_view text) {
  for (size_t at = text.rfind('\n'); at != std::string_view::npos && at > 0;
       at = text.rfind('\n', at - 1)) {
    const std::string_view after = text.substr(at + 1);
    if (!after.empty() && DecodeUtf8(after).state == Utf8State::kValid &&
        !IsWhiteSpace(DecodeUtf8(after).code_point)) {
      return at + 1;
    }
  }
  return 0;
}

}  // namespace

Result<TextInput> TextInput::Open(const std::string& name) {
  if (name == "-") {
    return TextInput(std::nullopt);
  }
  COLI_ASSIGN_OR_RETURN(File file, File::OpenRead(name));
  // As below /proc: the system says 0 bytes and makes them when they are read.
  std::byte first{};
  if (file.size() == 0 && file.ReadExact(0, {&first, 1})) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: nobody can tell how long it is; give it as standard input: - < {}", name,
                name);
  }
  return TextInput(std::move(file));
}

Result<std::string> TextInput::Read(size_t bytes, SignalWatch* signals) {
  std::string text;
  if (file_) {
    text.resize(std::min<uint64_t>(bytes, file_->size() - offset_));
    COLI_RETURN_IF_ERROR(file_->ReadExact(offset_, std::as_writable_bytes(std::span(text))));
  } else {
    COLI_ASSIGN_OR_RETURN(text, ReadStandardInput(bytes, signals));
  }
  offset_ += text.size();
  return text;
}

std::string TextInput::name() const { return file_ ? file_->path() : "standard input"; }

std::optional<uint64_t> TextInput::size() const {
  return file_ ? std::optional(file_->size()) : std::nullopt;
}

Result<std::string> ReadWholeInput(const std::string& name, size_t max_bytes) {
  constexpr size_t kPiece = size_t{64} << 10;
  COLI_ASSIGN_OR_RETURN(TextInput input, TextInput::Open(name));
  if (const auto size = input.size()) {
    return *size <= max_bytes ? input.Read(*size) : TooLong(input, max_bytes);
  }
  std::string text;
  for (;;) {
    COLI_ASSIGN_OR_RETURN(const std::string piece, input.Read(kPiece));
    text += piece;
    if (text.size() > max_bytes) {
      return TooLong(input, max_bytes);
    }
    if (piece.size() < kPiece) {
      return text;
    }
  }
}

Result<std::string> TextPieces::Next(SignalWatch* signals) {
  if (!ended_) {  // a terminal would be asked again after its end
    const size_t wanted = piece_bytes_ - rest_.size();
    COLI_ASSIGN_OR_RETURN(const std::string more, input_.Read(wanted, signals));
    rest_ += more;
    ended_ = more.size() < wanted;
  }
  const size_t valid = FindInvalidUtf8(rest_).value_or(rest_.size());
  if (valid < rest_.size() &&
      (ended_ || DecodeUtf8(std::string_view(rest_).substr(valid)).state == Utf8State::kInvalid)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected UTF-8, found byte {:#04x} at offset {}",
                input_.name(), static_cast<unsigned char>(rest_[valid]),
                input_.offset() - rest_.size() + valid);
  }
  const size_t line_end = ended_ ? 0 : LastLineEnd(std::string_view(rest_).substr(0, valid));
  std::string piece = rest_.substr(0, line_end > 0 ? line_end : valid);
  rest_.erase(0, piece.size());
  return piece;
}

}  // namespace coli
