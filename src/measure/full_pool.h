// Pools for measurements, which name the number of their threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/result.h"
#include "sys/thread_pool.h"

namespace coli {

// A pool of `threads` >= 1, as ThreadPool places them. Error: kIo when the system gives fewer.
Result<std::unique_ptr<ThreadPool>> MakeFullPool(
    size_t threads, const std::optional<PhysicalCores>& cores = std::nullopt);

}  // namespace coli
