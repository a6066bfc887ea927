#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "cli/line_source.h"

namespace coli {
namespace {

class PlainLines final : public LineSource {
 public:
  PlainLines(int descriptor, SignalWatch& signals, size_t max_line_bytes)
      : descriptor_(descriptor), signals_(signals), max_line_bytes_(max_line_bytes) {}

  Line Read(std::string_view) override {
    for (;;) {
      if (const size_t end = buffer_.find('\n', searched_); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        searched_ = 0;
        return {Kind::kLine, std::move(line)};
      }
      searched_ = buffer_.size();
      if (signals_.TakeInterrupt()) {
        return {Kind::kInterrupt, {}, buffer_.empty()};
      }
      if (signals_.termination() != 0) {
        return {Kind::kEnd, {}};
      }
      if (error_ != 0) {
        return {Kind::kFailed, std::generic_category().message(error_)};
      }
      if (buffer_.size() > max_line_bytes_) {
        return {Kind::kFailed, fmt::format("a line of more than {} bytes", max_line_bytes_)};
      }
      if (ended_) {
        searched_ = 0;
        return buffer_.empty() ? Line{Kind::kEnd, {}}
                               : Line{Kind::kLine, std::exchange(buffer_, {})};
      }
      Fill();
    }
  }

 private:
  // Waits for input or a signal.
  void Fill() {
    std::array<pollfd, 2> wait = {
        {{descriptor_, POLLIN, 0}, {signals_.wake_descriptor(), POLLIN, 0}}};
    ::poll(wait.data(), wait.size(), -1);
    signals_.DrainWakeups();
    if (wait[0].revents == 0) {
      return;
    }
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
    if (count > 0) {
      buffer_.append(bytes.data(), static_cast<size_t>(count));
    } else if (count == 0) {
      ended_ = true;
    } else if (errno != EINTR && errno != EAGAIN) {
      error_ = errno;
    }
  }

  int descriptor_;
  SignalWatch& signals_;
  size_t max_line_bytes_;
  std::string buffer_;
  size_t searched_ = 0;  // bytes of the buffer in which there is no end of line
  bool ended_ = false;
  int error_ = 0;  // errno of the read that failed
};

}  // namespace

std::unique_ptr<LineSource> MakePlainLines(int descriptor, SignalWatch& signals,
                                           size_t max_line_bytes) {
  return std::make_unique<PlainLines>(descriptor, signals, max_line_bytes);
}

}  // namespace coli
