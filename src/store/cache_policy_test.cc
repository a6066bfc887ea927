// What holds for every policy of the table.
#include "store/cache_policy.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include "sys/left_behind.h"

namespace coli {
namespace {

constexpr std::array<size_t, 4> kExperts{5, 0, 9, 3};
constexpr std::array<int, 3> kLayers{0, 2, 3};

class EveryPolicy : public testing::TestWithParam<std::string> {
 protected:
  EveryPolicy() : policy_(MakeCachePolicy(GetParam()).value()) { policy_->Prepare(kExperts); }

  LayerId AnyLayer() { return LayerId{kLayers[random_() % kLayers.size()]}; }
  size_t Experts(LayerId layer) { return kExperts[static_cast<size_t>(Raw(layer))]; }
  ExpertKey AnyExpert() {
    const LayerId layer = AnyLayer();
    return {layer, ExpertId{static_cast<int>(random_() % Experts(layer))}};
  }
  void Route() {
    const LayerId layer = AnyLayer();
    std::vector<float> scores(Experts(layer));
    std::ranges::generate(scores,
                          [&] { return std::uniform_real_distribution(-1.F, 1.F)(random_); });
    policy_->OnRoute(layer, scores);
  }
  void InsertOrRemove(ExpertKey key) {
    if (residents_.erase(key) != 0) {
      policy_->OnRemove(key);
    } else {
      policy_->OnUse(key);
      policy_->OnInsert(key);
      residents_.insert(key);
    }
  }

  std::mt19937 random_{7};
  std::unique_ptr<CachePolicy> policy_;
  std::set<ExpertKey> residents_;
};

// Against a search through all residents, in 20,000 random states.
TEST_P(EveryPolicy, TheVictimIsAResidentOfLeastWorthThatIsNotPinned) {
  for (int i = 0; i < 20'000; ++i) {
    Route();
    policy_->OnUse(AnyExpert());
    InsertOrRemove(AnyExpert());
    const std::set<ExpertKey> pinned{AnyExpert(), AnyExpert(), AnyExpert()};

    const auto victim = policy_->Victim([&](ExpertKey key) { return pinned.contains(key); });

    double least = std::numeric_limits<double>::infinity();
    for (const ExpertKey key : residents_) {
      least = pinned.contains(key) ? least : std::min(least, policy_->Worth(key));
    }
    ASSERT_EQ(victim.has_value(), std::isfinite(least));
    if (victim) {
      ASSERT_TRUE(residents_.contains(*victim));
      ASSERT_FALSE(pinned.contains(*victim));
      ASSERT_EQ(policy_->Worth(*victim), least);
    }
  }
}

// What malloc says that is in use.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
uint64_t BytesInUse() {
  const struct mallinfo2 facts = mallinfo2();
  return facts.uordblks + facts.hblkhd;
}

TEST_P(EveryPolicy, TakesAsMuchMemoryAsItSays) {
  if (COLI_ADDRESS_SANITIZER) {
    GTEST_SKIP() << "a sanitizer's allocator does not say how much was taken";
  }
  const std::vector<size_t> glm(20, 256);
  const auto policy = MakeCachePolicy(GetParam()).value();
  const uint64_t before = BytesInUse();

  policy->Prepare(glm);

  const auto taken = static_cast<double>(BytesInUse() - before);
  EXPECT_NEAR(taken, static_cast<double>(policy->MemoryBytes(glm)), 0.05 * taken + 16'384);
}
#endif

TEST_P(EveryPolicy, CallsItselfAsItIsListed) { EXPECT_EQ(policy_->name(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(CachePolicy, EveryPolicy, testing::Values("lru", "lfu", "score"),
                         [](const auto& policy) { return policy.param; });

TEST(CachePolicy, AnUnknownNameIsAnErrorThatListsThemAll) {
  const auto policy = MakeCachePolicy("lruu");

  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().message,
            "cache policy: expected one of lru, lfu, score, found \"lruu\"");
}

TEST(CachePolicy, TheDefaultIsListed) {
  EXPECT_TRUE(MakeCachePolicy(kDefaultCachePolicy).has_value());
}

}  // namespace
}  // namespace coli
