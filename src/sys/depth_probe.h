// How many reads a drive likes to have at the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "sys/io_engine.h"

namespace coli {

struct DepthSpeed {
  size_t depth = 0;
  double bytes_per_second = 0;
};

// The largest depth whose speed is within 10 % of the best. Where two are about as fast, the deeper
// one stays so when reads are of other sizes or the drive is busy with something else; reads that
// nobody waits for are few at a drive whatever its depth (read_queue.h). `speeds` is not empty.
// Pure.
size_t ChooseDepth(std::span<const DepthSpeed> speeds);

using MakeEngineOfDepth = std::function<Result<std::unique_ptr<IoEngine>>(size_t depth)>;

struct DepthProbe {
  static constexpr size_t kPieceBytes = kReadPieceBytes;
  static constexpr size_t kDepths[] = {1, 2, 4, 8, 16};
  static constexpr int kRounds = 3;  // in turn, so that all depths see the same neighbours

  std::chrono::milliseconds time{300};  // for all together; slow drives take longer
  uint64_t seed = 0;                    // of the places that are read
};

// Speeds of random reads of whole pieces from `files`, by depth. Empty when no file is long enough
// to tell. Errors: of the reads and of `make`.
Result<std::vector<DepthSpeed>> MeasureDepths(std::span<const File* const> files,
                                              const MakeEngineOfDepth& make,
                                              const DepthProbe& probe);

}  // namespace coli
