// Reads by pread in worker threads: works on every file system, needs nothing from the kernel.
#pragma once

#include <cstddef>
#include <memory>

#include "sys/io_engine.h"

namespace coli {

// Up to `threads` (>= 1) reads run at once, started in the order of submission. Destruction waits
// for reads that run and drops those that have not started: nothing is written to any destination
// afterwards.
std::unique_ptr<IoEngine> MakeIoThreads(size_t threads);

}  // namespace coli
