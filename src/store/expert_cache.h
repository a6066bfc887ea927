// Which experts stay: residents by bytes inside one budget, across layers and sizes. Only decides;
// who holds the bytes does as it says. No I/O, no clock, no memory after construction; the time of
// an operation does not depend on the number of residents. Engine thread only.
//
// A newcomer takes the place of residents only if it is worth more than each of them (admission):
// a cache smaller than what one token needs then keeps the best instead of losing all in turn. A
// pinned expert never has to go, and what cannot make room changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "store/cache_policy.h"
#include "store/expert_numbers.h"

namespace coli {

class ExpertCache {
 public:
  // bytes: what each expert takes, by layer (empty where a layer has none) and expert.
  ExpertCache(const std::vector<std::vector<uint64_t>>& bytes, uint64_t capacity_bytes,
              std::unique_ptr<CachePolicy> policy);

  bool Contains(ExpertKey key) const { return places_[numbers_(key)] != Place::kAbsent; }

  // As CachePolicy::OnRoute; before the uses of the token.
  void OnRoute(LayerId layer, std::span<const float> scores) { policy_->OnRoute(layer, scores); }
  // An expert was asked for, resident or not.
  void OnUse(ExpertKey key) { policy_->OnUse(key); }

  // Offers an expert that was read. True: it is resident now, and the experts
  // appended to `victims` are not any more. False: there is no room that is worth it; drop it.
  bool Offer(ExpertKey key, PinnedExperts pinned, std::vector<ExpertKey>& victims);
  // The same, but nothing ever has to go: only free room is taken.
  bool OfferFree(ExpertKey key);
  // No longer resident, for a reason of the caller's.
  void Remove(ExpertKey key);

  // Appends to `victims` who has to go now, least worth first. What is pinned may leave more
  // resident than the capacity: the next offer that is accepted makes up for it, or the same call
  // again.
  void SetCapacity(uint64_t bytes, PinnedExperts pinned, std::vector<ExpertKey>& victims);

  double Worth(ExpertKey key) const { return policy_->Worth(key); }
  uint64_t capacity_bytes() const { return capacity_bytes_; }
  uint64_t resident_bytes() const { return resident_bytes_; }
  size_t residents() const { return residents_; }
  const CachePolicy& policy() const { return *policy_; }

 private:
  enum class Place : uint8_t { kAbsent, kResident, kLeaving };

  // Appends the least worthy residents to `victims` until `bytes` fit in; false, and nothing
  // appended, when that takes one that is worth `worth` or more.
  bool ChooseVictims(uint64_t bytes, double worth, PinnedExperts pinned,
                     std::vector<ExpertKey>& victims);
  void Insert(ExpertKey key);

  const ExpertNumbers numbers_;
  std::vector<uint64_t> bytes_;  // [experts]
  std::vector<Place> places_;    // [experts]; kLeaving only while victims are chosen
  std::unique_ptr<CachePolicy> policy_;
  uint64_t capacity_bytes_;
  uint64_t resident_bytes_ = 0;
  size_t residents_ = 0;
};

}  // namespace coli
