#include "store/expert_cache.h"

#include <limits>

#include "base/check.h"

namespace coli {
namespace {

std::vector<size_t> CountExperts(const std::vector<std::vector<uint64_t>>& bytes) {
  std::vector<size_t> counts;
  for (const auto& layer : bytes) {
    counts.push_back(layer.size());
  }
  return counts;
}

}  // namespace

ExpertCache::ExpertCache(const std::vector<std::vector<uint64_t>>& bytes, uint64_t capacity_bytes,
                         std::unique_ptr<CachePolicy> policy)
    : numbers_(CountExperts(bytes)),
      places_(numbers_.experts(), Place::kAbsent),
      policy_(std::move(policy)),
      capacity_bytes_(capacity_bytes) {
  bytes_.reserve(numbers_.experts());
  for (const auto& layer : bytes) {
    bytes_.insert(bytes_.end(), layer.begin(), layer.end());
  }
  policy_->Prepare(CountExperts(bytes));
}

bool ExpertCache::Offer(ExpertKey key, PinnedExperts pinned, std::vector<ExpertKey>& victims) {
  COLI_CHECK(!Contains(key));
  const size_t first = victims.size();
  if (!ChooseVictims(bytes_[numbers_(key)], policy_->Worth(key), pinned, victims)) {
    return false;
  }
  for (const ExpertKey victim : std::span(victims).subspan(first)) {
    Remove(victim);
  }
  Insert(key);
  return true;
}

bool ExpertCache::OfferFree(ExpertKey key) {
  COLI_CHECK(!Contains(key));
  const uint64_t bytes = bytes_[numbers_(key)];
  if (bytes > capacity_bytes_ || resident_bytes_ > capacity_bytes_ - bytes) {
    return false;
  }
  Insert(key);
  return true;
}

void ExpertCache::SetCapacity(uint64_t bytes, PinnedExperts pinned,
                              std::vector<ExpertKey>& victims) {
  capacity_bytes_ = bytes;
  while (resident_bytes_ > capacity_bytes_) {
    const std::optional<ExpertKey> victim = policy_->Victim(pinned);
    if (!victim) {
      return;
    }
    victims.push_back(*victim);
    Remove(*victim);
  }
}

bool ExpertCache::ChooseVictims(uint64_t bytes, double worth, PinnedExperts pinned,
                                std::vector<ExpertKey>& victims) {
  const auto stays = [&](ExpertKey key) {
    return places_[numbers_(key)] == Place::kLeaving || pinned(key);
  };
  const size_t first = victims.size();
  uint64_t staying_bytes = resident_bytes_;
  bool fits = bytes <= capacity_bytes_;
  while (fits && staying_bytes > capacity_bytes_ - bytes) {
    const std::optional<ExpertKey> victim = policy_->Victim(stays);
    fits = victim && policy_->Worth(*victim) < worth;
    if (fits) {
      places_[numbers_(*victim)] = Place::kLeaving;
      staying_bytes -= bytes_[numbers_(*victim)];
      victims.push_back(*victim);
    }
  }
  for (const ExpertKey victim : std::span(victims).subspan(first)) {
    places_[numbers_(victim)] = Place::kResident;
  }
  if (!fits) {
    victims.resize(first);
  }
  return fits;
}

void ExpertCache::Insert(ExpertKey key) {
  const size_t number = numbers_(key);
  places_[number] = Place::kResident;
  resident_bytes_ += bytes_[number];
  ++residents_;
  policy_->OnInsert(key);
}

void ExpertCache::Remove(ExpertKey key) {
  const size_t number = numbers_(key);
  COLI_CHECK(places_[number] == Place::kResident);
  places_[number] = Place::kAbsent;
  resident_bytes_ -= bytes_[number];
  --residents_;
  policy_->OnRemove(key);
}

}  // namespace coli
