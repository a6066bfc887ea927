// Which expert leaves the cache. A pure state machine: events in, victim out; no clock, no I/O, no
// locks, so that it can be replayed on recorded traces. Engine thread only.
//
// Adding a policy is one file under policies/ and one line in policies.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/result.h"

namespace coli {

struct ExpertKey {
  LayerId layer;
  ExpertId expert;
  friend auto operator<=>(const ExpertKey&, const ExpertKey&) = default;
};

// Experts that must stay for now.
using PinnedExperts = FunctionRef<bool(ExpertKey)>;

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;

  // Called once and before all others, with the number of experts of each layer (0 where a layer
  // has none). Takes all memory that the policy will ever need.
  virtual void Prepare(std::span<const size_t> experts_by_layer) = 0;
  // How many bytes that takes; for the memory plan.
  virtual uint64_t MemoryBytes(std::span<const size_t> experts_by_layer) const = 0;

  // The router's selection scores of all experts of a layer for one token, tokens in order; -inf
  // for experts that could not be selected, at least one is finite.
  virtual void OnRoute(LayerId layer, std::span<const float> scores) = 0;
  // An expert was asked for, resident or not: once for each token or batch of tokens.
  virtual void OnUse(ExpertKey key) = 0;
  virtual void OnInsert(ExpertKey key) = 0;  // now resident
  virtual void OnRemove(ExpertKey key) = 0;  // no longer resident

  // The resident expert to give up: one of least worth among those that are not pinned; nothing
  // when all are. Its time does not depend on the number of residents: that of one layer's experts
  // and the number of layers, and for each pinned expert that is worth less than the victim once
  // more its layer's experts.
  virtual std::optional<ExpertKey> Victim(PinnedExperts pinned) const = 0;
  // Higher stays longer. Comparable between layers, and for experts that are not resident, too.
  virtual double Worth(ExpertKey key) const = 0;

  virtual std::string_view name() const = 0;
};

// Least recently used first. Its worth is the time of the last use, so it admits everything.
std::unique_ptr<CachePolicy> MakeLruPolicy();

// Least frequently used first, where a use counts for `decay` times as much with every further
// token of its layer.
struct LfuParameters {
  double decay = 0.9;
};
std::unique_ptr<CachePolicy> MakeLfuPolicy(LfuParameters parameters = {});

// Least expected first, after the router's scores of all experts (routing_forecast.h).
struct ScoreParameters {
  size_t experts_per_token = 8;  // of the model
  double decay = 0.55;           // of the average, with every token of the layer
  double temperature = 0.2;      // of the softmax that makes the scores of a layer shares
  double rate = 0.02;            // at which the correction of the average learns; 0: not at all
  double impatience = 0.3;  // worth falls by e to this within a token until the layer's next turn
};
std::unique_ptr<CachePolicy> MakeScorePolicy(const ScoreParameters& parameters = {});

inline constexpr std::string_view kDefaultCachePolicy = "score";

// By the names of policies.def. Fails with kInvalidArgument and the names there are.
Result<std::unique_ptr<CachePolicy>> MakeCachePolicy(std::string_view name,
                                                     size_t experts_per_token = 8);
std::string CachePolicyNames();  // "lru, lfu, ..."

}  // namespace coli
