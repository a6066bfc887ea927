// Decoding takes no memory: once the cache has been filled, experts come and go in the slots that
// there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "store/expert_store.h"
#include "store/testing/experts.h"

namespace {

thread_local size_t allocations = 0;  // of this thread, by operator new

}  // namespace

// The other forms of operator new call these; a sanitizer has some of its own. Inlined, free looks
// like the wrong way to give back what operator new gave.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(std::max<size_t>(bytes, 1))) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(std::max<size_t>(bytes, 1));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace coli {
namespace {

using coli::testing::ExpertModel;

// Reads at once, in the thread that asks, and takes no memory.
class InstantReads final : public IoEngine {
 public:
  void Submit(const ReadRequest& request) override {
    const auto needed = request.destination.first(request.NeededBytes());
    COLI_CHECK(request.file->ReadExact(request.offset, needed).has_value());
    COLI_CHECK(count_ < tags_.size());
    tags_[count_++] = request.tag;
  }
  std::optional<ReadCompletion> Wait(std::chrono::milliseconds) override { return Poll(); }
  std::optional<ReadCompletion> Poll() override {
    return count_ == 0 ? std::nullopt : std::optional(ReadCompletion{tags_[--count_], Ok()});
  }
  bool Cancel(uint64_t) override { return false; }
  bool Promote(uint64_t) override { return false; }
  bool Close(std::chrono::milliseconds) override { return true; }
  size_t in_flight() const override { return count_; }
  IoStats stats() const override { return {}; }
  std::string_view name() const override { return "instant"; }
  size_t depth() const override { return tags_.size(); }

 private:
  std::array<uint64_t, 1024> tags_{};
  size_t count_ = 0;
};

// Tokens that choose experts at random in two layers of equally large ones.
class Decoding {
 public:
  explicit Decoding(ExpertStore& store) : store_(store) {}

  void Tokens(int count) {
    for (int token = 0; token < count; ++token) {
      for (const LayerId layer : {LayerId{1}, LayerId{2}}) {
        Layer(layer);
      }
    }
  }

 private:
  static constexpr size_t kActive = 3;

  void Layer(LayerId layer) {
    for (size_t e = 0; e < scores_.size(); ++e) {
      order_[e] = ExpertId{static_cast<int32_t>(e)};
      scores_[e] = static_cast<float>(random_() % 1000) / 1000;
    }
    std::ranges::shuffle(order_, random_);
    const std::span<ExpertId> chosen = std::span(order_).first(kActive);
    std::ranges::sort(chosen);
    store_.OnRoute(layer, scores_);
    store_.Begin(layer, chosen, Purpose::kDecode);
    if (store_.WantsGuesses()) {
      store_.Guess(LayerId{3 - Raw(layer)}, std::span(order_).last(2));
    }
    while (store_.Next().value()) {
    }
  }

  ExpertStore& store_;
  std::mt19937 random_{1};
  std::array<ExpertId, ExpertModel::kExperts> order_{};
  std::array<float, ExpertModel::kExperts> scores_{};
};

class ExpertAllocation : public ::testing::TestWithParam<const char*> {};

TEST_P(ExpertAllocation, DecodingTakesNoMemoryOnceTheCacheIsFull) {
  const ExpertModel model(ExpertModel::Down::kApart);
  ExpertStoreOptions options{.reader = {}, .batch_experts = 3};
  options.reader.budget_bytes = std::max(10 * model.Cost(1), model.Cost(3));
  const auto store =
      ExpertStore::Create(options, model.Directory(), std::make_unique<InstantReads>(),
                          MakeCachePolicy(GetParam(), 3).value())
          .value();
  Decoding decoding(*store);
  decoding.Tokens(200);
  const ExpertStoreStats before = store->stats();
  const uint64_t held_bytes = store->held_bytes();

  const size_t allocations_before = allocations;
  decoding.Tokens(2'000);
  const size_t taken = allocations - allocations_before;

  EXPECT_EQ(taken, 0U);
  EXPECT_EQ(store->held_bytes(), held_bytes);
  const ExpertStoreStats stats = store->stats();
  EXPECT_GT(stats.misses, before.misses + 1'000) << "experts came";
  EXPECT_GT(stats.evictions + stats.dropped, before.evictions + before.dropped + 1'000)
      << "and went";
}

// Whatever is resident: looking for a victim asks about one expert of each layer at most.
TEST_P(ExpertAllocation, AVictimIsFoundInTheSameTimeAmongManyAsAmongFew) {
  constexpr size_t kLayers = 20;
  constexpr int kExperts = 256;
  const auto policy = MakeCachePolicy(GetParam(), 8).value();
  policy->Prepare(std::vector<size_t>(kLayers, kExperts));
  size_t asked = 0;
  for (int expert = 0; expert < kExperts; ++expert) {
    for (int layer = 0; layer < static_cast<int>(kLayers); ++layer) {
      policy->OnUse({LayerId{layer}, ExpertId{expert}});
      policy->OnInsert({LayerId{layer}, ExpertId{expert}});
    }
    asked = 0;
    ASSERT_TRUE(policy->Victim([&asked](ExpertKey) {
      ++asked;
      return false;
    }));
    ASSERT_LE(asked, kLayers) << "with so many resident of each layer: " << expert + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ExpertAllocation, ::testing::Values("score", "lru", "lfu"));

}  // namespace
}  // namespace coli
