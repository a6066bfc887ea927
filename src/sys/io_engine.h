// Asynchronous reads: requests in, completions out, in any order.
//
// The one seam between the program and the drive. Implementations: IoUring, IoThreads (pread in
// worker threads), Drives (several engines as one), IoFaulty (a script of delays, reorderings and
// failures around another engine, for tests). Engine thread only: one thread submits, waits and
// cancels.
//
// A read goes past the page cache when its offset, size and address suit the file's direct
// alignment (kDirectAlignment suits every file that has one), else through it. So a caller offers
// aligned windows around what it needs, and the engine decides.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "sys/file.h"

namespace coli {

// A long read is cut into pieces of about this size: smaller ones cost the drive speed, larger ones
// keep what is urgent waiting.
inline constexpr uint64_t kReadPieceBytes = uint64_t{4} << 20;

// A read that is kAhead begins only when no kDemand read waits to begin.
enum class Urgency : uint8_t { kDemand, kAhead };

struct ReadRequest {
  static constexpr size_t kAll = std::numeric_limits<size_t>::max();

  const File* file = nullptr;  // must outlive the completion
  uint64_t offset = 0;
  std::span<std::byte> destination;  // must stay valid and untouched until the completion
  uint64_t tag = 0;                  // the caller's name for this read, handed back unchanged
  Urgency urgency = Urgency::kDemand;
  // The first bytes that must arrive; fewer than all only where the file may end inside the
  // destination. What lies beyond them is arbitrary afterwards.
  size_t needed = kAll;

  size_t NeededBytes() const { return std::min(needed, destination.size()); }
};

struct ReadCompletion {
  uint64_t tag = 0;
  // ok: the needed bytes are there. Errors: kIo and kCorrupt (the file ends too early) with path,
  // offset and reason; kCancelled.
  Status status;
  // Of one that failed: the read hangs and may write to its destination at any time, which must
  // never be freed nor used again.
  bool hangs = false;
};

// Sums since creation; all monotone.
struct IoStats {
  uint64_t bytes = 0;         // that arrived
  uint64_t busy_us = 0;       // time during which at least one read was at the drive
  uint64_t direct_reads = 0;  // ended, with every byte past the page cache
  uint64_t cached_reads = 0;  // ended, at least in part through the page cache
};

class IoEngine {
 public:
  // Closes with kClosePatience, unless that was done before.
  virtual ~IoEngine() = default;

  // Queues a read; never blocks on the drive.
  virtual void Submit(const ReadRequest& request) = 0;
  // Blocks until some submitted read is complete, for `patience` at most: nothing when none was,
  // or none is in flight.
  virtual std::optional<ReadCompletion> Wait(std::chrono::milliseconds patience) = 0;
  // A completion if one is there, without blocking.
  virtual std::optional<ReadCompletion> Poll() = 0;
  // A read of that tag that has not begun never does: it completes with kCancelled, and true is
  // returned. False: it has begun, or there is none.
  virtual bool Cancel(uint64_t tag) = 0;
  // A read of that tag that waits as kAhead becomes the last of those that wait as kDemand. False:
  // there is none that waits as kAhead.
  virtual bool Promote(uint64_t tag) = 0;
  // Ends the engine: reads that have not begun are dropped, those at the drive are waited for, for
  // `patience` at most. True: nothing is written to any destination any more. False: some read
  // hangs. It is left behind with the thread that made it; the destinations of all reads in flight
  // must then never be freed. Afterwards nothing else may be called.
  virtual bool Close(std::chrono::milliseconds patience) = 0;

  // Reads submitted and not yet handed back.
  virtual size_t in_flight() const = 0;
  virtual IoStats stats() const = 0;
  virtual std::string_view name() const = 0;
  // Reads that are at the drive at the same time, at most.
  virtual size_t depth() const = 0;
};

inline constexpr std::chrono::milliseconds kClosePatience{10'000};

}  // namespace coli
