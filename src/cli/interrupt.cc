#include "cli/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace coli {
namespace {

// What the handler may touch. A signal handler has no argument of ours, so these cannot be members.
std::atomic<bool> interrupt_seen{false};
std::atomic<int> termination_seen{0};
std::atomic<int> wake_pipe{-1};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void HandleSignal(int number) {
  const int saved_errno = errno;
  if (number == SIGINT) {
    interrupt_seen.store(true);
  } else if (number == SIGTERM || number == SIGHUP) {
    termination_seen.store(number);
  }
  const char byte = 0;
  // A full pipe wakes the poller just as well.
  [[maybe_unused]] const ssize_t ignored = ::write(wake_pipe.load(), &byte, 1);
  errno = saved_errno;
}

}  // namespace

void IgnoreSignalsOfWrites() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

SignalWatch::SignalWatch(Second second) {
  if (::pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    pipe_ = {-1, -1};  // without descriptors the flags still work
  }
  interrupt_seen.store(false);
  termination_seen.store(0);
  wake_pipe.store(pipe_[1]);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    const bool ends_us =
        second == Second::kEndsUs && kSignals[i] != SIGCONT && kSignals[i] != SIGWINCH;
    struct sigaction action{};
    action.sa_handler = HandleSignal;
    action.sa_flags = ends_us ? static_cast<int>(SA_RESETHAND) : 0;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(kSignals[i], &action, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) {
      ::sigaction(kSignals[i], &before_[i], nullptr);  // nohup stays in force
    }
  }
}

SignalWatch::~SignalWatch() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  wake_pipe.store(-1);
  for (const int descriptor : pipe_) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
}

bool SignalWatch::TakeInterrupt() { return interrupt_seen.exchange(false); }
bool SignalWatch::interrupted() const { return interrupt_seen.load(); }
int SignalWatch::termination() const { return termination_seen.load(); }
int SignalWatch::wake_descriptor() const { return pipe_[0]; }

void SignalWatch::DrainWakeups() {
  std::array<char, 64> bytes{};
  while (::read(pipe_[0], bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace coli
