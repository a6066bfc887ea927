// Signals as values: a handler stores the number and wakes whoever polls; everything else happens
// outside of it.
#pragma once

#include <array>
#include <csignal>

namespace coli {

// A closed pipe and a limit on the size of files show up as EPIPE and EFBIG of a write, not as a
// signal. Called once at start.
void IgnoreSignalsOfWrites();

// Catches SIGINT, SIGTERM and SIGHUP while it lives; SIGCONT and SIGWINCH wake the poller, too. One
// at a time.
class SignalWatch {
 public:
  enum class Second {
    kIsCaught,  // every signal is a value
    kEndsUs,    // a second SIGINT or SIGTERM ends the process at once
  };
  explicit SignalWatch(Second second);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Whether somebody pressed Ctrl-C since the last call.
  bool TakeInterrupt();
  bool interrupted() const;
  // SIGTERM or SIGHUP came: 15 or 1, else 0. It stays.
  int termination() const;
  // Whether somebody wants us to end, one way or the other.
  bool came() const { return interrupted() || termination() != 0; }

  // Readable as soon as a signal arrived; DrainWakeups makes it quiet again.
  int wake_descriptor() const;
  void DrainWakeups();

 private:
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH};
  std::array<struct sigaction, kSignals.size()> before_{};
  std::array<int, 2> pipe_{-1, -1};
};

}  // namespace coli
