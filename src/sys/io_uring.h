// Reads through io_uring: one thread keeps the drive busy with as many reads as it likes best.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "sys/io_engine.h"

namespace coli {

struct IoUringOptions {
  size_t depth = 8;    // 1 to kMaxDepth
  bool direct = true;  // past the page cache where that is possible

  static constexpr size_t kMaxDepth = 1024;
};

// Errors: kUnsupported with the system's reason where the kernel has no io_uring or does not allow
// it.
Result<std::unique_ptr<IoEngine>> MakeIoUring(const IoUringOptions& options);

}  // namespace coli
