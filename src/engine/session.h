// A conversation's KV rows between requests. The client holds a handle; everything inside belongs
// to the engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/kv_cache.h"

namespace coli {

class Session {
 public:
  // Rows of the cache that are valid for a prompt: the length of the common prefix.
  uint32_t CommonPrefix(std::span<const TokenId> prompt) const {
    if (!cache) {
      return 0;
    }
    const auto differs = std::ranges::mismatch(tokens, prompt);
    return static_cast<uint32_t>(differs.in1 - tokens.begin());
  }

  std::optional<KvCache>
      cache;  // nothing before the first request, or after another conversation needed the memory
  std::vector<TokenId> tokens;  // whose rows the cache holds
  bool busy = false;            // a request of this session runs
  uint64_t last_use = 0;        // for taking the cache of the one unused for longest
};

}  // namespace coli
