#include "measure/paired_round.h"

#include <utility>

#include "measure/full_pool.h"

namespace coli {

Result<PairedRounds> PairedRounds::Create(uint32_t threads) {
  COLI_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, MakeFullPool(threads));
  return PairedRounds(std::move(pool), threads > PhysicalCores().count());
}

}  // namespace coli
