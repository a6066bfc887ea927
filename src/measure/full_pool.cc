#include "measure/full_pool.h"

namespace coli {

Result<std::unique_ptr<ThreadPool>> MakeFullPool(size_t threads,
                                                 const std::optional<PhysicalCores>& cores) {
  auto pool = std::make_unique<ThreadPool>(threads, cores);
  if (pool->threads() < threads) {
    return Fail(ErrorCode::kIo, "expected {} threads to measure with, the system gives {}", threads,
                pool->threads());
  }
  return pool;
}

}  // namespace coli
