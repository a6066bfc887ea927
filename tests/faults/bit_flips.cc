// What single flipped bits do to a model directory:
//   bit_flips GOLDEN-MODEL [--flips N] [--seed S] [--only NUMBER] [--any-memory]
//
// Each flip is loaded and asked by a process of its own, which may refuse the model or answer
// anything, but not crash, not hang and not take more memory than its budget. Prints a table of
// what became of the flips; the exit status is 0 when nothing happened that may not.

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <span>

#include "base/check.h"
#include "faults/flipped_model.h"

namespace coli::testing {
namespace {

constexpr uint64_t kRamBytes = 100'000'000;
constexpr rlim_t kProcessorSeconds = 20;
constexpr std::chrono::seconds kDeadline{180};  // of a busy machine

struct Options {
  std::filesystem::path golden;
  uint64_t flips = 1000;
  uint64_t seed = 1;
  std::optional<uint64_t> only;
  bool any_memory = false;
};

std::optional<Options> Parse(std::span<char*> arguments) {
  Options options;
  uint64_t only = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--any-memory") {
      options.any_memory = true;
      continue;
    }
    if (!word.starts_with("--")) {
      options.golden = word;
      continue;
    }
    uint64_t* const value = word == "--flips"  ? &options.flips
                            : word == "--seed" ? &options.seed
                            : word == "--only" ? &only
                                               : nullptr;
    if (value == nullptr || ++i == arguments.size()) {
      return std::nullopt;
    }
    const std::string_view digits = arguments[i];
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      return std::nullopt;
    }
    if (value == &only) {
      options.only = only;
    }
  }
  return options.golden.empty() ? std::nullopt : std::optional(options);
}

// What one process did. Without an outcome it broke a promise: `broken` says which.
struct Trial {
  std::optional<Outcome> outcome;
  std::string broken;
  uint64_t peak_bytes = 0;
};

[[noreturn]] void RunChild(const std::filesystem::path& directory, int pipe) {
  const rlimit limit{kProcessorSeconds, kProcessorSeconds};
  ::setrlimit(RLIMIT_CPU, &limit);
  const Outcome outcome = LoadAndAnswer(directory, kRamBytes);
  const std::string record = static_cast<char>(outcome.kind) + outcome.text;
  const ssize_t written = ::write(pipe, record.data(), record.size());
  ::_exit(written == static_cast<ssize_t>(record.size()) ? 0 : 1);
}

// All that comes out of the pipe before it is closed or the deadline is over.
std::optional<std::string> ReadRecord(int pipe) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  std::string record;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd ready{pipe, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      return std::nullopt;
    }
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
    if (got <= 0) {
      return record;
    }
    record.append(buffer.data(), static_cast<size_t>(got));
  }
}

// This process has one thread, so that the child may do everything after the fork.
Trial Try(const std::filesystem::path& directory) {
  std::array<int, 2> ends{};
  COLI_CHECK(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  COLI_CHECK(child >= 0);
  if (child == 0) {
    ::close(ends[0]);
    RunChild(directory, ends[1]);
  }
  ::close(ends[1]);
  const auto record = ReadRecord(ends[0]);
  ::close(ends[0]);
  if (!record) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  rusage use{};
  COLI_CHECK(::wait4(child, &status, 0, &use) == child);
  Trial trial;
  trial.peak_bytes = static_cast<uint64_t>(use.ru_maxrss) << 10;
  if (!record || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
    trial.broken = "hangs";
  } else if (WIFSIGNALED(status)) {
    trial.broken = fmt::format("is killed by signal {}", WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0 || record->empty()) {
    trial.broken = fmt::format("ends with status {}", WEXITSTATUS(status));
  } else {
    trial.outcome = Outcome{static_cast<Outcome::Kind>(record->front()), record->substr(1)};
  }
  return trial;
}

// The promises that an outcome can break, too. An error without a place helps nobody.
void CheckPromises(const FlippedModel& model, const Options& options, Trial& trial) {
  if (!trial.outcome) {
    return;
  }
  if (trial.peak_bytes > kRamBytes && !options.any_memory) {
    trial.broken = fmt::format("takes {} bytes of memory", trial.peak_bytes);
  } else if (trial.outcome->kind == Outcome::Kind::kRefused &&
             trial.outcome->text.find(model.path().string()) == std::string::npos) {
    trial.broken = "is refused without naming a file: " + trial.outcome->text;
  } else if (trial.outcome->kind == Outcome::Kind::kFailed && trial.outcome->text.empty()) {
    trial.broken = "fails without a word";
  }
}

struct Counts {
  uint64_t flips = 0;
  uint64_t refused = 0;
  uint64_t failed = 0;
  uint64_t other = 0;
  uint64_t same = 0;
  uint64_t broken = 0;

  void Add(const Trial& trial, const Outcome& expected) {
    ++flips;
    if (!trial.broken.empty()) {
      ++broken;
    } else if (trial.outcome->kind == Outcome::Kind::kRefused) {
      ++refused;
    } else if (trial.outcome->kind == Outcome::Kind::kFailed) {
      ++failed;
    } else {
      ++(trial.outcome->text == expected.text ? same : other);
    }
  }
};

void PrintRow(std::string_view name, uint64_t bytes, const Counts& c) {
  fmt::print("{:<24}{:>9}{:>8}{:>9}{:>8}{:>14}{:>13}{:>8}\n", name, bytes, c.flips, c.refused,
             c.failed, c.other, c.same, c.broken);
}

// The rows of all parts; the whole is returned.
void Print(const FlippedModel& model, const std::array<Counts, kParts>& counts) {
  fmt::print("{:<24}{:>9}{:>8}{:>9}{:>8}{:>14}{:>13}{:>8}\n", "part", "bytes", "flips", "refused",
             "failed", "other tokens", "same tokens", "broken");
  Counts total;
  for (size_t i = 0; i < kParts; ++i) {
    const Counts& c = counts[i];
    PrintRow(Name(static_cast<Part>(i)), model.bytes(static_cast<Part>(i)), c);
    total.flips += c.flips;
    total.refused += c.refused;
    total.failed += c.failed;
    total.other += c.other;
    total.same += c.same;
    total.broken += c.broken;
  }
  PrintRow("all", model.total_bytes(), total);
}

int Run(const Options& options) {
  const FlippedModel model(options.golden);
  const Trial whole = Try(model.path());
  if (!whole.outcome || whole.outcome->kind != Outcome::Kind::kAnswered) {
    fmt::print("the model is broken before a bit is: {}\n",
               whole.outcome ? whole.outcome->text : whole.broken);
    return 1;
  }
  std::array<Counts, kParts> counts{};
  uint64_t broken = 0;
  uint64_t peak = 0;
  const uint64_t first = options.only.value_or(0);
  for (uint64_t number = first; number < (options.only ? first + 1 : options.flips); ++number) {
    const Bit bit = model.Draw(options.seed, number);
    model.Flip(bit);
    Trial trial = Try(model.path());
    model.Flip(bit);
    CheckPromises(model, options, trial);
    counts[static_cast<size_t>(bit.segment->part)].Add(trial, *whole.outcome);
    peak = std::max(peak, trial.peak_bytes);
    if (!trial.broken.empty()) {
      ++broken;
      fmt::print("flip {} of seed {}: {}: {}\n", number, options.seed, bit.Text(), trial.broken);
    } else if (options.only) {
      fmt::print("flip {}: {}: {} {}\n", number, bit.Text(), static_cast<char>(trial.outcome->kind),
                 trial.outcome->text);
    }
  }
  Print(model, counts);
  fmt::print("largest peak of memory: {} bytes of a budget of {}\n", peak, kRamBytes);
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace coli::testing

int main(int argc, char** argv) {
  const auto options = coli::testing::Parse({argv + 1, static_cast<size_t>(argc - 1)});
  if (!options) {
    fmt::print(
        stderr,
        "usage: bit_flips GOLDEN-MODEL [--flips N] [--seed S] [--only NUMBER] [--any-memory]\n");
    return 2;
  }
  return coli::testing::Run(*options);
}
