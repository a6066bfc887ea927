// Which expert leaves the cache. A pure state machine: events in, victim out; no clock, no I/O, no
// locks, so that it can be replayed on recorded traces. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace coli {

struct ExpertKey {
  LayerId layer;
  ExpertId expert;
  friend auto operator<=>(const ExpertKey&, const ExpertKey&) = default;
};

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;
  virtual void OnInsert(ExpertKey key) = 0;  // now resident, and in use
  virtual void OnUse(ExpertKey key) = 0;     // a resident expert was asked for
  virtual void OnRemove(ExpertKey key) = 0;  // no longer resident
  // The resident expert to give up, among those for which `pinned` is false; nothing when all are
  // pinned.
  virtual std::optional<ExpertKey> Victim(const std::function<bool(ExpertKey)>& pinned) const = 0;
  virtual std::string_view name() const = 0;
};

// Least recently used first.
std::unique_ptr<CachePolicy> MakeLruPolicy();

}  // namespace coli
