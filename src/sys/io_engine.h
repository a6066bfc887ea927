// Asynchronous reads: requests in, completions out, in any order.
//
// The one seam between the program and the drive. Implementations: IoThreads (pread in worker
// threads), IoFaulty (a script of delays, reorderings and failures around another engine, for
// tests). Engine thread only: one thread submits and waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "sys/file.h"

namespace coli {

struct ReadRequest {
  const File* file = nullptr;  // must outlive the completion
  uint64_t offset = 0;
  std::span<std::byte> destination;  // must stay valid and untouched until the completion
  uint64_t tag = 0;                  // the caller's name for this read, handed back unchanged
};

struct ReadCompletion {
  uint64_t tag = 0;
  Status status;  // ok: the destination is filled to the last byte
};

class IoEngine {
 public:
  // Waits for reads that run; afterwards nothing is written to any destination.
  virtual ~IoEngine() = default;

  // Queues a read; never blocks on the drive.
  virtual void Submit(const ReadRequest& request) = 0;
  // Blocks until some submitted read is complete. Must not be called when in_flight() is 0.
  virtual ReadCompletion Wait() = 0;
  // A completion if one is there, without blocking.
  virtual std::optional<ReadCompletion> Poll() = 0;
  // Reads submitted and not yet handed back.
  virtual size_t in_flight() const = 0;
  virtual std::string_view name() const = 0;
};

}  // namespace coli
