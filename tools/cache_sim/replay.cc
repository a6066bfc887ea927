#include "tools/cache_sim/replay.h"

#include <algorithm>
#include <limits>
#include <set>

#include "store/expert_cache.h"

namespace coli::cache_sim {
namespace {

size_t FirstCounted(const std::vector<Batch>& batches, const ReplayOptions& options) {
  return static_cast<size_t>(options.warm_up * static_cast<double>(batches.size()));
}

// Tells the policy what the routers said of a batch.
class Scores {
 public:
  Scores(const RoutingTrace& trace, const ReplayOptions& options)
      : trace_(trace), options_(options) {}

  void Tell(const Batch& batch, ExpertCache& cache) {
    const size_t rows = batch.rows.size();
    const size_t told =
        rows > options_.longest_append ? std::min<size_t>(rows, options_.sweep_tail) : rows;
    for (size_t r = rows - told; r < rows; ++r) {
      const RoutedRow row = trace_.row(batch.rows[r]);
      scores_.assign(trace_.header().layers[static_cast<size_t>(Raw(row.layer))].experts,
                     -std::numeric_limits<float>::infinity());
      for (const RankedExpert& ranked : row.ranked) {
        scores_[static_cast<size_t>(Raw(ranked.expert))] = ranked.score;
      }
      cache.OnRoute(row.layer, scores_);
    }
  }

 private:
  const RoutingTrace& trace_;
  const ReplayOptions& options_;
  std::vector<float> scores_;
};

}  // namespace

HitCount Replay(const RoutingTrace& trace, const std::vector<Batch>& batches,
                uint64_t capacity_bytes, std::unique_ptr<CachePolicy> policy,
                const ReplayOptions& options) {
  ExpertCache cache(ExpertBytes(trace.header()), capacity_bytes, std::move(policy));
  Scores scores(trace, options);
  std::vector<ExpertKey> misses;
  std::vector<ExpertKey> victims;
  HitCount count;
  const size_t first_counted = FirstCounted(batches, options);
  for (size_t i = 0; i < batches.size(); ++i) {
    const Batch& batch = batches[i];
    const bool counts = i >= first_counted;
    scores.Tell(batch, cache);
    misses.clear();
    for (const ExpertId expert : batch.experts) {
      const ExpertKey key{batch.layer, expert};
      cache.OnUse(key);
      if (cache.Contains(key)) {
        count.hits += counts ? 1U : 0U;
      } else {
        misses.push_back(key);
      }
    }
    count.requests += counts ? batch.experts.size() : 0U;
    const bool sweep = batch.rows.size() > options.longest_append;
    const auto pinned = [&](ExpertKey key) {
      return key.layer == batch.layer && std::ranges::binary_search(batch.experts, key.expert);
    };
    for (const ExpertKey key : misses) {
      sweep ? cache.OfferFree(key) : cache.Offer(key, pinned, victims);
    }
    victims.clear();
  }
  return count;
}

namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

// For every use, in the order of the batches and their experts, the number of the batch that uses
// the expert next.
std::vector<size_t> NextUses(const std::vector<Batch>& batches, const ExpertNumbers& numbers) {
  std::vector<size_t> next_use;
  std::vector<size_t> next_of(numbers.experts(), kNever);
  for (size_t i = batches.size(); i-- > 0;) {
    for (size_t e = batches[i].experts.size(); e-- > 0;) {
      size_t& next = next_of[numbers({batches[i].layer, batches[i].experts[e]})];
      next_use.push_back(next);
      next = i;
    }
  }
  std::ranges::reverse(next_use);
  return next_use;
}

// Residents by when they are used next.
class ClairvoyantCache {
 public:
  ClairvoyantCache(const std::vector<std::vector<uint64_t>>& bytes, const ExpertNumbers& numbers,
                   uint64_t capacity_bytes)
      : next_of_(numbers.experts(), kNever),
        resident_(numbers.experts(), false),
        free_bytes_(capacity_bytes) {
    for (const auto& layer : bytes) {
      bytes_.insert(bytes_.end(), layer.begin(), layer.end());
    }
  }

  // True: a hit.
  bool Use(size_t expert, size_t next_use) {
    const bool hit = resident_[expert];
    if (hit) {
      Remove(expert);
    }
    if (next_use != kNever && MakeRoom(bytes_[expert], next_use)) {
      next_of_[expert] = next_use;
      resident_[expert] = true;
      free_bytes_ -= bytes_[expert];
      order_.insert({next_use, expert});
    }
    return hit;
  }

 private:
  bool MakeRoom(uint64_t bytes, size_t next_use) {
    uint64_t room = free_bytes_;
    auto last = order_.end();
    while (room < bytes) {
      if (last == order_.begin() || std::prev(last)->first <= next_use) {
        return false;
      }
      --last;
      room += bytes_[last->second];
    }
    while (free_bytes_ < bytes) {
      Remove(order_.rbegin()->second);
    }
    return true;
  }

  void Remove(size_t expert) {
    order_.erase({next_of_[expert], expert});
    resident_[expert] = false;
    free_bytes_ += bytes_[expert];
  }

  std::vector<uint64_t> bytes_;
  std::vector<size_t> next_of_;
  std::vector<bool> resident_;
  uint64_t free_bytes_;
  std::set<std::pair<size_t, size_t>> order_;  // next use, expert
};

}  // namespace

HitCount ReplayBelady(const RoutingTrace& trace, const std::vector<Batch>& batches,
                      uint64_t capacity_bytes, const ReplayOptions& options) {
  const auto bytes = ExpertBytes(trace.header());
  std::vector<size_t> experts_by_layer;
  for (const auto& layer : bytes) {
    experts_by_layer.push_back(layer.size());
  }
  const ExpertNumbers numbers(experts_by_layer);
  const std::vector<size_t> next_uses = NextUses(batches, numbers);
  ClairvoyantCache cache(bytes, numbers, capacity_bytes);
  const size_t first_counted = FirstCounted(batches, options);
  HitCount count;
  size_t use = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    for (const ExpertId expert : batches[i].experts) {
      const bool hit = cache.Use(numbers({batches[i].layer, expert}), next_uses[use++]);
      if (i >= first_counted) {
        count.hits += hit ? 1U : 0U;
        ++count.requests;
      }
    }
  }
  return count;
}

}  // namespace coli::cache_sim
