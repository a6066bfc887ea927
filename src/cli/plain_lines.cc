#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "cli/line_source.h"

namespace coli {
namespace {

class PlainLines final : public LineSource {
 public:
  PlainLines(int descriptor, SignalWatch& signals) : descriptor_(descriptor), signals_(signals) {}

  Line Read(std::string_view) override {
    for (;;) {
      if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return {Kind::kLine, std::move(line)};
      }
      if (signals_.TakeInterrupt()) {
        return {Kind::kInterrupt, {}, buffer_.empty()};
      }
      if (signals_.termination() != 0) {
        return {Kind::kEnd, {}};
      }
      if (ended_) {
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
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      ended_ = true;
    }
  }

  int descriptor_;
  SignalWatch& signals_;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<LineSource> MakePlainLines(int descriptor, SignalWatch& signals) {
  return std::make_unique<PlainLines>(descriptor, signals);
}

}  // namespace coli
