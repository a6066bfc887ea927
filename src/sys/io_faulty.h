// An IoEngine that misbehaves on purpose, as a script says: for tests of everything that reads.
//
// Deterministic: the same submissions and the same script give the same completions in the same
// order, whatever the engine inside does: reads begin only in Wait and Poll, as many as `depth`
// allows, all that have begun are finished first, and only then the next completion is chosen.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "sys/io_engine.h"

namespace coli {

// What happens to one read. The default is: nothing unusual.
struct ReadFault {
  std::optional<Error>
      error;  // completes with this error; no byte is read except `bytes_before_error`
  size_t bytes_before_error = 0;       // a short read: this many bytes arrive, then the error
  size_t hold_back = 0;                // completions of other reads, or polls, that come first
  std::chrono::microseconds delay{0};  // Wait takes this long longer; Poll does not see it
  bool hang = false;                   // never completes; Wait loses its patience
};

// What the script knows of the read it decides about.
struct ReadAttempt {
  size_t number;      // of all submissions, from 0
  size_t repetition;  // earlier submissions of the same file and offset
  const ReadRequest& request;
};

struct FaultScript {
  std::function<ReadFault(const ReadAttempt&)> decide;  // none: no faults
  // Completions in a random order; none: in the order in which reads begin.
  std::optional<uint64_t> shuffle_seed;
  size_t depth =
      std::numeric_limits<size_t>::max();  // reads that have begun and are not handed back
};

// Every read fails the first `times` times it is tried (the same file and offset again is a
// repetition), then succeeds.
FaultScript FailFirst(size_t times, Error error);

std::unique_ptr<IoEngine> MakeIoFaulty(std::unique_ptr<IoEngine> inner, FaultScript script);

}  // namespace coli
