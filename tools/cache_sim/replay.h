// Replays a routing trace on the cache that the engine uses, and on one that knows the future.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "store/cache_policy.h"
#include "tools/cache_sim/requests.h"

namespace coli::cache_sim {

struct HitCount {
  uint64_t hits = 0;
  uint64_t requests = 0;
  double rate() const {
    return requests == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(requests);
  }
};

struct ReplayOptions {
  double warm_up = 0.25;  // the share of the batches, from the first on, whose hits do not count
  // The two regimes of prompts in the engine. A batch of more rows is a sweep: it takes free room
  // only, and only its last rows tell the policy what they expect.
  uint32_t longest_append = 256;
  uint32_t sweep_tail = 32;
};

// Each batch: scores of its rows, hits, and then the misses are offered while the experts of the
// batch are pinned.
HitCount Replay(const RoutingTrace& trace, const std::vector<Batch>& batches,
                uint64_t capacity_bytes, std::unique_ptr<CachePolicy> policy,
                const ReplayOptions& options = {});

// Belady's rule with bypass: what is used again last has to go, and an expert that is used again
// later than all residents is not kept. For experts of one size no policy can hit more.
HitCount ReplayBelady(const RoutingTrace& trace, const std::vector<Batch>& batches,
                      uint64_t capacity_bytes, const ReplayOptions& options = {});

}  // namespace coli::cache_sim
