// What every engine has between the thread that submits and those that read: requests that wait,
// demand first, each kind in the order of submission, and completions. Thread-safe.
//
// Of the reads that are kAhead few are at the drive at once: demand that comes meanwhile waits for
// them there, and no queue of ours can overtake them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "sys/file_read.h"
#include "sys/io_engine.h"

namespace coli {

class ReadQueue {
 public:
  static constexpr size_t kAheadAtDrive = 2;

  explicit ReadQueue(size_t most_ahead_at_drive = kAheadAtDrive)
      : most_ahead_at_drive_(most_ahead_at_drive) {}

  // --- the submitting side: as IoEngine says ---
  void Push(const ReadRequest& request);
  std::optional<ReadCompletion> Wait(std::chrono::milliseconds patience);
  std::optional<ReadCompletion> Poll();
  bool Cancel(uint64_t tag);
  bool Promote(uint64_t tag);
  // Drops what waits, so that Take and WaitToTake give nothing any more, and waits for what was
  // taken. False: some of it is still not finished; its files are not touched any more.
  bool Close(std::chrono::milliseconds patience);
  size_t in_flight() const;
  IoStats stats() const;

  // --- the reading side ---
  // The next request to begin; nothing when none waits. Every request that is taken is to be given
  // back by Finish.
  std::optional<ReadRequest> Take();
  // Blocks until there is one; nothing after Close.
  std::optional<ReadRequest> WaitToTake();
  // Takes what a call of `read` gave, unless Close gave up on it: then false, and neither `read`
  // nor its file may be touched.
  bool Advance(FileRead& read, ssize_t result);
  void Finish(const FileRead& read);
  bool closed() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool MayTake() const;
  std::optional<ReadRequest> TakeLocked();
  std::optional<ReadCompletion> PollLocked();
  static std::optional<ReadRequest> Remove(std::deque<ReadRequest>& requests, uint64_t tag);

  const size_t most_ahead_at_drive_;
  mutable std::mutex mutex_;
  std::condition_variable waiting_changed_;
  std::condition_variable done_changed_;
  std::deque<ReadRequest> demand_;
  std::deque<ReadRequest> ahead_;
  std::deque<ReadCompletion> done_;
  size_t at_drive_ = 0;
  size_t ahead_at_drive_ = 0;     // of those
  Clock::time_point busy_since_;  // while at_drive_ > 0
  Clock::duration busy_{0};
  IoStats stats_;  // but busy_us
  bool closed_ = false;
  bool given_up_ = false;
};

}  // namespace coli
