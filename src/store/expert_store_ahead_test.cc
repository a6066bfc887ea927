// What an ExpertStore does besides handing out what is asked for: halves, guesses, warming, sweeps,
// budgets that change, drives that hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "store/expert_store.h"
#include "store/testing/experts.h"
#include "store/testing/some_reads_hang.h"
#include "sys/io_faulty.h"
#include "sys/io_threads.h"

namespace coli {
namespace {

using coli::testing::AllIds;
using coli::testing::ExpertModel;
using coli::testing::Ids;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr LayerId kLayer{1};
constexpr LayerId kNextLayer{2};

class ExpertStoreAheadTest : public ::testing::Test {
 protected:
  // Room for `slots` experts of the layers that the tests use.
  std::unique_ptr<ExpertStore> Make(size_t slots, FaultScript script = {}) {
    options_.reader.budget_bytes = std::max(slots * cost_, model_.Cost(3));
    auto store = ExpertStore::Create(options_, model_.Directory(),
                                     MakeIoFaulty(MakeIoThreads(2), std::move(script)),
                                     MakeCachePolicy(policy_).value());
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }

  void Run(ExpertStore& store, LayerId layer, const std::vector<ExpertId>& ids,
           Purpose purpose = Purpose::kDecode) {
    store.Begin(layer, ids, purpose);
    Finish(store, layer, ids);
  }

  // Every expert of the batch comes whole, or first its gate and up and then its down.
  void Finish(ExpertStore& store, LayerId layer, const std::vector<ExpertId>& ids) {
    std::vector<int> halves(ids.size(), 0);
    while (true) {
      auto ready = store.Next();
      ASSERT_TRUE(ready) << ready.error().message;
      if (!*ready) {
        break;
      }
      const ExpertKey key{layer, ids.at((*ready)->index)};
      int& of_expert = halves.at((*ready)->index);
      switch ((*ready)->part) {
        case ExpertStore::Part::kWhole:
          ASSERT_EQ(of_expert, 0);
          of_expert = 2;
          break;
        case ExpertStore::Part::kGateUp:
          ASSERT_EQ(of_expert, 0);
          of_expert = 1;
          break;
        case ExpertStore::Part::kDown:
          ASSERT_EQ(of_expert, 1);
          of_expert = 2;
          break;
      }
      model_.ExpectGateAndUp((*ready)->lease.view(), key);
      if (of_expert == 2) {
        model_.ExpectRight((*ready)->lease.view(), key);
      }
    }
    EXPECT_THAT(halves, Each(2));
  }

  static void WarmToTheEnd(ExpertStore& store) {
    while (store.left_to_warm() > 0 || store.io().in_flight() > 0) {
      store.Pump();
    }
  }

  ExpertModel model_{ExpertModel::Down::kApart};
  const uint64_t cost_ = model_.Cost(Raw(kLayer));
  ExpertStoreOptions options_{.reader = {}, .batch_experts = 4};
  std::string policy_ = "lru";
};

// --- halves ---

TEST_F(ExpertStoreAheadTest, GateAndUpOfAllAreReadBeforeDownOfAny) {
  std::vector<bool> down;
  FaultScript script;
  script.decide = [&](const ReadAttempt& attempt) {
    down.push_back(attempt.request.file->path().ends_with("out-00002.safetensors") &&
                   attempt.request.NeededBytes() > 1'000);
    ReadFault fault;
    fault.hold_back = down.back() ? 20 : 0;
    return fault;
  };
  const auto store = Make(40, script);
  store->Begin(kLayer, Ids({0, 3, 7}), Purpose::kDecode);
  std::vector<ExpertStore::Part> parts;
  while (const auto ready = store->Next().value()) {
    parts.push_back(ready->part);
  }

  using enum ExpertStore::Part;
  EXPECT_TRUE(std::ranges::is_sorted(down));
  EXPECT_EQ(std::ranges::count(down, true), 3);
  EXPECT_EQ(parts, (std::vector{kGateUp, kGateUp, kGateUp, kDown, kDown, kDown}));
}

TEST_F(ExpertStoreAheadTest, PromptsTakeExpertsWhole) {
  const auto store = Make(40);
  store->Begin(kLayer, Ids({0, 3, 7}), Purpose::kAppend);
  while (const auto ready = store->Next().value()) {
    EXPECT_EQ(ready->part, ExpertStore::Part::kWhole);
  }
}

TEST_F(ExpertStoreAheadTest, AnyOrderOfArrivalGivesBothHalvesOnce) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    FaultScript script{.decide = {}, .shuffle_seed = seed};
    script.decide = [seed](const ReadAttempt& attempt) {
      ReadFault fault;
      fault.hold_back = (attempt.number + seed) % 4;
      if ((attempt.number + seed) % 5 == 0 && attempt.repetition == 0) {
        fault.error = Error{ErrorCode::kIo, "scripted"};
      }
      return fault;
    };
    const auto store = Make(1 + seed, script);
    for (int token = 0; token < 4; ++token) {
      Run(*store, kLayer, AllIds());
      Run(*store, kNextLayer, Ids({1, 2, 8}));
      store->Begin(kLayer, Ids({4, 5}), Purpose::kDecode);  // abandoned, perhaps half way
      ASSERT_TRUE(store->Next());
    }
  }
}

TEST_F(ExpertStoreAheadTest, DownMayFailWhileGateAndUpAreLeased) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {
    ReadFault fault;
    if (attempt.request.file->path().ends_with("out-00002.safetensors") &&
        attempt.request.NeededBytes() > 1'000) {
      fault.hold_back = 20;
      fault.error = Error{ErrorCode::kIo, "scripted"};
    }
    return fault;
  };
  const auto store = Make(20, script);
  store->Begin(kLayer, Ids({3}), Purpose::kDecode);
  {
    const auto half = store->Next().value();
    ASSERT_EQ(half->part, ExpertStore::Part::kGateUp);
    EXPECT_FALSE(store->Next());
    model_.ExpectGateAndUp(half->lease.view(), {kLayer, ExpertId{3}});
    EXPECT_EQ(store->used_slots(), 1U);
  }
  EXPECT_EQ(store->used_slots(), 0U);
}

// --- who stays ---

TEST_F(ExpertStoreAheadTest, AMissWorthLessThanTheResidentsIsUsedAndDropped) {
  policy_ = "score";
  const auto store = Make(5);  // three residents and a place for reads
  std::vector<float> scores(ExpertModel::kExperts, 0.0F);
  scores[1] = scores[2] = scores[3] = 0.9F;
  for (int token = 0; token < 20; ++token) {
    store->OnRoute(kLayer, scores);
    Run(*store, kLayer, Ids({1, 2, 3}));
  }
  const uint64_t misses = store->stats().misses;

  Run(*store, kLayer, Ids({7}));
  EXPECT_EQ(store->stats().dropped, 1U);
  Run(*store, kLayer, Ids({1, 2, 3}));

  EXPECT_EQ(store->stats().misses, misses + 1);
  EXPECT_EQ(store->stats().evictions, 0U);
}

TEST_F(ExpertStoreAheadTest, ResidentsLeaveRoomForReadsUnlessAllExpertsFit) {
  EXPECT_EQ(ExpertStore::RoomForReads(100, 100, 10, 8), 0U);
  EXPECT_EQ(ExpertStore::RoomForReads(200, 100, 10, 8), 0U);
  EXPECT_EQ(ExpertStore::RoomForReads(39, 100, 10, 8), 0U);
  EXPECT_EQ(ExpertStore::RoomForReads(40, 100, 10, 8), 10U);
  EXPECT_EQ(ExpertStore::RoomForReads(90, 100, 10, 8), 20U);
  EXPECT_EQ(ExpertStore::RoomForReads(9'000, 10'000, 10, 8), 120U);
}

TEST_F(ExpertStoreAheadTest, ASweepTakesItsShareOfFreeRoomAndNothingElse) {
  policy_ = "score";
  const auto store = Make(16);  // 12 residents of 30 experts, of which one layer is wider
  std::vector<float> scores(ExpertModel::kExperts, 0.0F);
  scores[5] = scores[6] = 0.9F;
  store->OnRoute(kLayer, scores);
  Run(*store, kLayer, AllIds(), Purpose::kSweep);
  const size_t share = store->cache().residents();
  EXPECT_GE(share, 2U);
  EXPECT_LE(share, 4U);
  EXPECT_TRUE(store->cache().Contains({kLayer, ExpertId{5}}));
  EXPECT_TRUE(store->cache().Contains({kLayer, ExpertId{6}}));

  for (int token = 0; token < 30; ++token) {  // fills the cache
    Run(*store, kNextLayer, AllIds());
  }
  const size_t residents = store->cache().residents();
  const uint64_t evictions = store->stats().evictions;
  Run(*store, kLayer, AllIds(), Purpose::kSweep);
  Run(*store, LayerId{3}, AllIds(), Purpose::kSweep);
  EXPECT_EQ(store->stats().evictions, evictions);
  EXPECT_EQ(store->cache().residents(), residents);
}

// --- guesses ---

TEST_F(ExpertStoreAheadTest, ARightGuessIsThereWhenItIsAskedFor) {
  const auto store = Make(20);
  Run(*store, kLayer, Ids({0, 1}));
  ASSERT_TRUE(store->WantsGuesses());
  store->Guess(kNextLayer, Ids({4, 5}));
  for (int i = 0; i < 100; ++i) {
    store->Pump();
  }
  const uint64_t waited = store->stats().wait_us;
  Run(*store, kNextLayer, Ids({4, 5}));

  const ExpertStoreStats stats = store->stats();
  EXPECT_EQ(stats.wait_us, waited);
  EXPECT_EQ(stats.misses, 4U);  // they were read, ahead or not
  EXPECT_EQ(stats.lookahead.useful[0], 1U);
  EXPECT_EQ(stats.lookahead.useful[1], 1U);
  EXPECT_GT(stats.lookahead.saved_bytes, 0U);
  EXPECT_EQ(stats.lookahead.lost_bytes, 0U);
}

TEST_F(ExpertStoreAheadTest, AWrongGuessThatHasNotBegunCostsNothing) {
  FaultScript script;
  script.depth = 1;
  const auto store = Make(20, script);
  Run(*store, kLayer, Ids({0, 1}));
  const uint64_t read = store->stats().bytes_read;
  store->Guess(kNextLayer, Ids({4, 5}));
  store->Begin(kNextLayer, {}, Purpose::kDecode);
  EXPECT_FALSE(store->Next().value());

  EXPECT_EQ(store->stats().bytes_read, read);
  EXPECT_EQ(store->stats().lookahead.wasted[0], 1U);
  EXPECT_EQ(store->stats().lookahead.wasted[1], 1U);
  EXPECT_EQ(store->stats().lookahead.lost_bytes, 0U);
  EXPECT_EQ(store->used_slots(), store->cache().residents());
}

TEST_F(ExpertStoreAheadTest, AGuessThatWasGivenUpMayBeAskedFor) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {
    ReadFault fault;
    fault.hold_back = attempt.number > 8 ? 50 : 0;
    return fault;
  };
  const auto store = Make(20, script);
  Run(*store, kLayer, Ids({0, 1}));
  store->Guess(kNextLayer, Ids({4}));
  store->Pump();                                         // its reads have begun
  store->Begin(kNextLayer, Ids({6}), Purpose::kDecode);  // given up
  store->Begin(kNextLayer, Ids({4}), Purpose::kDecode);
  Finish(*store, kNextLayer, Ids({4}));
}

// Reads at once, but for codes of down: those wait until they are cancelled or asked for.
class DownComesLate final : public IoEngine {
 public:
  void Submit(const ReadRequest& request) override {
    const bool down = request.file->path().ends_with("out-00002.safetensors") &&
                      request.NeededBytes() > 1'000 && request.urgency == Urgency::kAhead;
    (down ? waiting_ : done_).push_back(request);
  }
  std::optional<ReadCompletion> Wait(std::chrono::milliseconds) override { return Poll(); }
  std::optional<ReadCompletion> Poll() override {
    if (!cancelled_.empty()) {
      const uint64_t tag = cancelled_.back();
      cancelled_.pop_back();
      return ReadCompletion{tag, Fail(ErrorCode::kCancelled, "cancelled")};
    }
    if (done_.empty()) {
      return std::nullopt;
    }
    const ReadRequest request = done_.back();
    done_.pop_back();
    return ReadCompletion{
        request.tag,
        request.file->ReadExact(request.offset, request.destination.first(request.NeededBytes()))};
  }
  bool Cancel(uint64_t tag) override {
    if (std::erase_if(waiting_, [&](const ReadRequest& r) { return r.tag == tag; }) == 0) {
      return false;
    }
    cancelled_.push_back(tag);
    return true;
  }
  bool Promote(uint64_t) override { return false; }
  bool Close(std::chrono::milliseconds) override { return true; }
  size_t in_flight() const override { return waiting_.size() + done_.size() + cancelled_.size(); }
  IoStats stats() const override { return {}; }
  std::string_view name() const override { return "down comes late"; }
  size_t depth() const override { return 1; }

 private:
  std::vector<ReadRequest> waiting_;
  std::vector<ReadRequest> done_;
  std::vector<uint64_t> cancelled_;
};

TEST_F(ExpertStoreAheadTest, AGuessOfWhichHalfIsHereMayBeGivenUpAndAskedFor) {
  options_.reader.budget_bytes = 20 * cost_;
  const auto store =
      ExpertStore::Create(options_, model_.Directory(), std::make_unique<DownComesLate>(),
                          MakeCachePolicy(policy_).value())
          .value();
  Run(*store, kLayer, Ids({0, 1}));
  store->Guess(kNextLayer, Ids({4}));
  store->Pump();                       // gate and up arrive
  store->Guess(kNextLayer, Ids({5}));  // a better guess: the read of down is taken back
  Run(*store, kNextLayer, Ids({4}));
  Run(*store, kNextLayer, Ids({4, 5}));
}

TEST_F(ExpertStoreAheadTest, GuessesNeverTakeTheLastPlaces) {
  const auto store = Make(5);  // three residents, one place
  Run(*store, kLayer, Ids({0, 1, 2}));
  store->Guess(kNextLayer, Ids({7, 8, 9}));
  EXPECT_LE(store->held_bytes(), store->budget_bytes());
  for (int i = 0; i < 20; ++i) {
    store->Pump();
  }
  EXPECT_EQ(store->stats().evictions, 0U);
  Run(*store, kNextLayer, Ids({0, 1, 2}));  // none of the guesses
}

TEST_F(ExpertStoreAheadTest, EveryThirdGuessFailingLosesNoPlace) {
  FaultScript script{.decide = {}, .shuffle_seed = 3};
  size_t ahead = 0;
  script.decide = [&ahead](const ReadAttempt& attempt) {
    ReadFault fault;
    if (attempt.request.urgency == Urgency::kAhead && ++ahead % 3 == 0) {
      fault.error = Error{ErrorCode::kIo, "scripted"};
    }
    return fault;
  };
  const auto store = Make(12, script);
  std::mt19937_64 random(1);
  const auto any = [&random] { return static_cast<int>(random() % ExpertModel::kExperts); };
  for (int token = 0; token < 10'000; ++token) {
    for (const LayerId layer : {kLayer, kNextLayer}) {
      store->Begin(layer, Ids({any()}), Purpose::kDecode);
      while (store->Next().value()) {
      }
      store->Guess(layer == kLayer ? kNextLayer : kLayer, Ids({any(), any()}));
    }
  }
  EXPECT_GT(ahead, 1'000U);
  store->Begin(kLayer, {});
  while (store->io().in_flight() > 0) {
    store->Pump();
  }
  EXPECT_EQ(store->used_slots(), store->cache().residents());
  EXPECT_LE(store->held_bytes(), store->budget_bytes());
}

TEST_F(ExpertStoreAheadTest, GuessesCanBeSwitchedOff) {
  options_.lookahead = false;
  const auto store = Make(20);
  Run(*store, kLayer, Ids({0, 1}));
  EXPECT_FALSE(store->WantsGuesses());
}

// --- warming ---

TEST_F(ExpertStoreAheadTest, WarmingFillsFreeRoomInOrder) {
  const auto store = Make(16);  // 12 residents
  std::vector<ExpertKey> keys;
  for (const ExpertId id : AllIds()) {
    keys.push_back({kLayer, id});
  }
  for (const ExpertId id : AllIds()) {
    keys.push_back({kNextLayer, id});
  }
  store->Warm(keys);
  WarmToTheEnd(*store);
  EXPECT_EQ(store->cache().residents(), 12U);
  EXPECT_EQ(store->stats().warmed, 12U);
  Run(*store, kLayer, AllIds());
  EXPECT_EQ(store->stats().misses, 0U);
}

TEST_F(ExpertStoreAheadTest, AnExpertThatCannotBeWarmedIsCountedAndLeftToWhoAsksForIt) {
  const ExpertRecord record = model_.Directory()[1][2];
  bool broken = true;
  FaultScript script;
  script.decide = [&](const ReadAttempt& attempt) {
    ReadFault fault;
    const uint64_t begin = attempt.request.offset;
    if (broken && attempt.request.file == record.gate.codes.file &&
        begin <= record.gate.codes.offset &&
        record.gate.codes.offset < begin + attempt.request.NeededBytes()) {
      fault.error = Error{ErrorCode::kIo, "scripted"};
    }
    return fault;
  };
  const auto store = Make(20, script);
  store->Warm({{kLayer, ExpertId{2}}, {kLayer, ExpertId{7}}});
  WarmToTheEnd(*store);

  EXPECT_EQ(store->stats().warmed, 1U);
  EXPECT_EQ(store->stats().warm_failures, 1U);
  const auto error = store->TakeWarmingError();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, AllOf(HasSubstr("layer 1, expert 2"), HasSubstr("scripted")));
  EXPECT_FALSE(store->TakeWarmingError());
  EXPECT_EQ(store->used_slots(), store->cache().residents());
  broken = false;
  Run(*store, kLayer, Ids({2, 7}));
}

TEST_F(ExpertStoreAheadTest, WarmingEndsWhenTheDriveFails) {
  FaultScript script;
  size_t reads = 0;
  script.decide = [&](const ReadAttempt& attempt) {
    ++reads;
    EXPECT_EQ(attempt.request.urgency, Urgency::kAhead) << "also when it is tried again";
    return ReadFault{.error = Error{ErrorCode::kIo, "scripted"}};
  };
  const auto store = Make(40, script);
  std::vector<ExpertKey> keys;
  for (const ExpertId id : AllIds()) {
    keys.push_back({kLayer, id});
  }
  store->Warm(keys);
  WarmToTheEnd(*store);

  EXPECT_GE(store->stats().warm_failures, ExpertStore::kMaxWarmFailures);
  EXPECT_LT(store->stats().warm_failures, keys.size());
  EXPECT_EQ(store->used_slots(), 0U);
  const size_t tried = reads;
  store->Pump();
  EXPECT_EQ(reads, tried) << "nothing is tried for ever";
}

TEST_F(ExpertStoreAheadTest, WhatIsAskedForComesBeforeWhatIsWarmed) {
  FaultScript script;
  script.depth = 1;
  std::vector<Urgency> order;
  script.decide = [&order](const ReadAttempt& attempt) {
    order.push_back(attempt.request.urgency);
    return ReadFault{};
  };
  const auto store = Make(20, script);
  store->Warm({{kLayer, ExpertId{0}}, {kLayer, ExpertId{1}}, {kLayer, ExpertId{2}}});
  Run(*store, kLayer, Ids({2, 5}));
  Run(*store, kLayer, Ids({0, 1, 2, 5}));
}

// --- the budget ---

TEST_F(ExpertStoreAheadTest, ASmallerBudgetIsKeptToAtOnce) {
  const auto store = Make(30);
  Run(*store, kLayer, AllIds());
  Run(*store, kNextLayer, AllIds());
  const uint64_t small = std::max(6 * cost_, store->least_budget_bytes());
  store->SetBudget(small);
  EXPECT_LE(store->held_bytes(), small);
  Run(*store, kLayer, AllIds());
  EXPECT_LE(store->held_bytes(), small);
  store->SetBudget(30 * cost_);
  Run(*store, kLayer, AllIds());
  Run(*store, kLayer, AllIds());
  EXPECT_EQ(store->cache().residents(), 10U);
}

TEST_F(ExpertStoreAheadTest, ASmallerBudgetWaitsForLeases) {
  const auto store = Make(30);
  Run(*store, kLayer, AllIds());
  store->Begin(kNextLayer, Ids({1}));
  {
    const auto held = store->Next().value();
    store->SetBudget(store->least_budget_bytes());
    model_.ExpectRight(held->lease.view(), {kNextLayer, ExpertId{1}});
  }
  EXPECT_LE(store->held_bytes(), store->budget_bytes());
  Run(*store, kLayer, AllIds());
}

// --- drives that hang ---

TEST_F(ExpertStoreAheadTest, AReadThatHangsFailsItsBatchOnly) {
  const ExpertRecord record = model_.Directory()[1][7];
  FaultScript script;
  script.decide = [&record](const ReadAttempt& attempt) {
    ReadFault fault;
    const uint64_t begin = attempt.request.offset;
    fault.hang = attempt.request.file == record.gate.codes.file &&
                 begin <= record.gate.codes.offset &&
                 record.gate.codes.offset < begin + attempt.request.NeededBytes();
    return fault;
  };
  options_.patience = std::chrono::milliseconds(20);
  const auto store = Make(20, script);
  store->Begin(kLayer, Ids({7}), Purpose::kDecode);

  const auto ready = store->Next();

  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kIo);
  EXPECT_THAT(ready.error().message,
              AllOf(HasSubstr("layer 1, expert 7"), HasSubstr(record.gate.codes.file->path()),
                    HasSubstr("not completed")));
  Run(*store, kNextLayer, AllIds());
}

TEST_F(ExpertStoreAheadTest, AReadThatIsGivenUpIsMadeAnewElsewhere) {
  options_.reader.budget_bytes = std::max(5 * cost_, model_.Cost(3));
  const auto store = ExpertStore::Create(options_, model_.Directory(),
                                         std::make_unique<coli::testing::SomeReadsHang>(),
                                         MakeCachePolicy(policy_).value())
                         .value();
  for (int batch = 0; batch < 40; ++batch) {
    const LayerId layer = batch % 2 == 0 ? kLayer : kNextLayer;
    const std::vector<ExpertId> ids = AllIds();
    store->Begin(layer, ids, batch % 3 == 0 ? Purpose::kAppend : Purpose::kDecode);
    std::vector<bool> done(ids.size());
    while (const auto ready = store->Next().value()) {
      const ExpertKey key{layer, ids.at(ready->index)};
      EXPECT_FALSE(done.at(ready->index));
      model_.ExpectGateAndUp(ready->lease.view(), key);
      if (ready->part != ExpertStore::Part::kGateUp) {
        model_.ExpectRight(ready->lease.view(), key);
        done.at(ready->index) = true;
      }
    }
    EXPECT_THAT(done, Each(true));
  }
  EXPECT_LE(store->held_bytes(), store->budget_bytes());
  EXPECT_EQ(store->used_slots(), store->cache().residents());
}

// The memory of a guess that nobody wants any more is as little to be used again.
TEST_F(ExpertStoreAheadTest, AGuessThatIsDroppedWhileItHangsLeavesItsMemory) {
  options_.reader.budget_bytes = 12 * cost_;
  const auto store = ExpertStore::Create(options_, model_.Directory(),
                                         std::make_unique<coli::testing::SomeReadsHang>(),
                                         MakeCachePolicy(policy_).value())
                         .value();
  for (int batch = 0; batch < 200; ++batch) {
    const LayerId layer = batch % 2 == 0 ? kLayer : kNextLayer;
    const LayerId other = batch % 2 == 0 ? kNextLayer : kLayer;
    const std::vector<ExpertId> ids = Ids({batch % 8});
    store->Begin(layer, ids, Purpose::kDecode);  // the last guesses are not among them
    while (const auto ready = store->Next().value()) {
      model_.ExpectGateAndUp(ready->lease.view(), {layer, ids[0]});
      if (ready->part != ExpertStore::Part::kGateUp) {
        model_.ExpectRight(ready->lease.view(), {layer, ids[0]});
      }
    }
    store->Guess(other, Ids({(batch + 3) % 8, (batch + 5) % 8}));
  }
  EXPECT_LE(store->held_bytes(), store->budget_bytes());
}

}  // namespace
}  // namespace coli
