#include <list>
#include <unordered_map>

#include "base/check.h"
#include "store/cache_policy.h"

namespace coli {
namespace {

class LruPolicy final : public CachePolicy {
 public:
  void OnInsert(ExpertKey key) override {
    COLI_CHECK(!places_.contains(key));
    places_[key] = order_.insert(order_.end(), key);
  }

  void OnUse(ExpertKey key) override {
    const auto place = places_.find(key);
    COLI_CHECK(place != places_.end());
    order_.splice(order_.end(), order_, place->second);
  }

  void OnRemove(ExpertKey key) override {
    const auto place = places_.find(key);
    COLI_CHECK(place != places_.end());
    order_.erase(place->second);
    places_.erase(place);
  }

  std::optional<ExpertKey> Victim(const std::function<bool(ExpertKey)>& pinned) const override {
    for (const ExpertKey key : order_) {
      if (!pinned(key)) {
        return key;
      }
    }
    return std::nullopt;
  }

  std::string_view name() const override { return "lru"; }

 private:
  struct Hash {
    size_t operator()(ExpertKey key) const {
      return std::hash<uint64_t>{}(static_cast<uint64_t>(static_cast<uint32_t>(Raw(key.layer)))
                                       << 32 |
                                   static_cast<uint32_t>(Raw(key.expert)));
    }
  };

  std::list<ExpertKey> order_;  // least recently used first
  std::unordered_map<ExpertKey, std::list<ExpertKey>::iterator, Hash> places_;
};

}  // namespace

std::unique_ptr<CachePolicy> MakeLruPolicy() { return std::make_unique<LruPolicy>(); }

}  // namespace coli
