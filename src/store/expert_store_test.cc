#include "store/expert_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>

#include "store/testing/experts.h"
#include "sys/io_faulty.h"
#include "sys/io_threads.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::AllIds;
using coli::testing::ExpertModel;
using coli::testing::Ids;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kInt4Layer = 1;
constexpr int kOtherInt4Layer = 2;
constexpr int kInt8Layer = 3;

ExpertStoreOptions Options(uint64_t budget, std::optional<size_t> max_experts = {}) {
  ExpertStoreOptions options;
  options.reader.budget_bytes = budget;
  options.reader.max_experts = max_experts;
  return options;
}

class ExpertStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<ExpertStore> Make(uint64_t budget, FaultScript script = {},
                                    std::optional<size_t> max_experts = {}) {
    auto store =
        ExpertStore::Create(Options(budget, max_experts), model_.Directory(),
                            MakeIoFaulty(MakeIoThreads(4), std::move(script)), MakeLruPolicy());
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }

  // Runs a batch to its end, checks every expert's bytes and gives the indices in the order they
  // came.
  std::vector<size_t> Run(ExpertStore& store, int layer, const std::vector<ExpertId>& ids) {
    store.Begin(LayerId{layer}, ids);
    std::vector<size_t> order;
    while (true) {
      auto ready = store.Next();
      if (!ready) {
        ADD_FAILURE() << ready.error().message;
        return order;
      }
      if (!*ready) {
        break;
      }
      const ExpertKey expected{LayerId{layer}, ids.at((*ready)->index)};
      EXPECT_EQ((*ready)->lease.key(), expected);
      model_.ExpectRight((*ready)->lease.view(), expected);
      order.push_back((*ready)->index);
    }
    auto sorted = order;
    std::ranges::sort(sorted);
    std::vector<size_t> all(ids.size());
    std::iota(all.begin(), all.end(), size_t{0});
    EXPECT_EQ(sorted, all);
    return order;
  }

  Error RunToError(ExpertStore& store, int layer, const std::vector<ExpertId>& ids) {
    store.Begin(LayerId{layer}, ids);
    while (true) {
      auto ready = store.Next();
      if (!ready) {
        return ready.error();
      }
      if (!*ready) {
        ADD_FAILURE() << "no error";
        return {ErrorCode::kCancelled, ""};
      }
    }
  }

  ExpertModel model_;
  const uint64_t int4_cost_ = model_.Cost(kInt4Layer);
  const uint64_t int8_cost_ = model_.Cost(kInt8Layer);
  const uint64_t plenty_ = 100 * int8_cost_;
};

// --- what comes, and in which order ---

TEST_F(ExpertStoreTest, EveryExpertComesOnceWithItsBytes) {
  const auto store = Make(plenty_);

  for (int layer = 1; layer < ExpertModel::kLayers; ++layer) {
    Run(*store, layer, AllIds());
  }

  EXPECT_EQ(store->stats().misses, 30U);
  EXPECT_EQ(store->stats().hits, 0U);
  EXPECT_EQ(store->stats().evictions, 0U);
  uint64_t bytes = 0;
  for (const auto& layer : model_.Directory()) {
    for (const auto& record : layer) {
      bytes += ExpertLayout(record).bytes();
    }
  }
  EXPECT_EQ(store->stats().bytes_read, bytes);
}

TEST_F(ExpertStoreTest, ResidentsComeFirst) {
  const auto store = Make(plenty_);
  Run(*store, kInt4Layer, Ids({3, 5}));

  const auto order = Run(*store, kInt4Layer, Ids({1, 3, 4, 5}));

  EXPECT_THAT(std::vector(order.begin(), order.begin() + 2), ElementsAre(1, 3));
  EXPECT_EQ(store->stats().hits, 2U);
  EXPECT_EQ(store->stats().misses, 4U);
}

TEST_F(ExpertStoreTest, MissesComeInOrderOfArrival) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {  // the first expert's reads come last
    ReadFault fault;
    fault.hold_back = attempt.number < 2 ? 100 : 0;
    return fault;
  };
  const auto store = Make(plenty_, script);

  EXPECT_THAT(Run(*store, kInt4Layer, Ids({0, 1, 2})), ElementsAre(1, 2, 0));
}

TEST_F(ExpertStoreTest, AnEmptyBatchIsOver) {
  const auto store = Make(plenty_);
  EXPECT_FALSE(store->Next().value());
  store->Begin(LayerId{1}, {});
  EXPECT_FALSE(store->Next().value());
}

TEST_F(ExpertStoreTest, AnyOrderOfReadsAndAnyBudgetGivesTheSameBytes) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const uint64_t budget = int8_cost_ * (1 + seed);
    FaultScript script{.decide = {}, .shuffle_seed = seed};
    script.decide = [seed](const ReadAttempt& attempt) {
      ReadFault fault;
      fault.hold_back = (attempt.number * 7 + seed) % 5;
      fault.delay = std::chrono::microseconds((attempt.number + seed) % 3 * 50);
      return fault;
    };
    const auto store = Make(budget, script);
    for (int token = 0; token < 3; ++token) {
      for (int layer = 1; layer < ExpertModel::kLayers; ++layer) {
        Run(*store, layer, AllIds());
      }
    }
    EXPECT_LE(store->held_bytes(), budget);
  }
}

TEST_F(ExpertStoreTest, OneSlotIsEnough) {
  const auto by_count = Make(plenty_, {}, 1);
  const auto by_bytes = Make(int8_cost_);
  EXPECT_EQ(by_count->slots(), 1U);

  for (ExpertStore* store : {by_count.get(), by_bytes.get()}) {
    Run(*store, kInt4Layer, AllIds());
    Run(*store, kInt8Layer, AllIds());
    Run(*store, kInt8Layer, Ids({9}));
    EXPECT_EQ(store->stats().hits, 1U);
  }
}

TEST_F(ExpertStoreTest, WaitingIsCounted) {
  FaultScript script;
  script.decide = [](const ReadAttempt&) {
    ReadFault fault;
    fault.delay = std::chrono::milliseconds(5);
    return fault;
  };
  const auto store = Make(plenty_, script);

  Run(*store, kInt4Layer, Ids({0}));

  EXPECT_GE(store->stats().wait_us, 5'000U);
}

// --- leases ---

TEST_F(ExpertStoreTest, ALeasedExpertStaysWhereAndWhatItIs) {
  const auto store = Make(2 * int8_cost_, {}, 2);
  store->Begin(LayerId{kInt4Layer}, Ids({4}));
  const ExpertStore::Ready held = *store->Next().value();
  const std::byte* const address = held.lease.view().gate.codes;
  const uint64_t generation = held.lease.generation();

  for (int round = 0; round < 3; ++round) {
    Run(*store, kOtherInt4Layer, AllIds());
    Run(*store, kInt8Layer, AllIds());
  }

  EXPECT_EQ(held.lease.view().gate.codes, address);
  EXPECT_EQ(held.lease.generation(), generation);
  model_.ExpectRight(held.lease.view(), {LayerId{kInt4Layer}, ExpertId{4}});
}

TEST_F(ExpertStoreTest, ARecycledSlotHasAnotherGeneration) {
  const auto store = Make(plenty_, {}, 1);
  const auto generation_of = [&store](int expert) {
    store->Begin(LayerId{kInt4Layer}, Ids({expert}));
    return (*store->Next().value()).lease.generation();
  };

  const uint64_t first = generation_of(0);
  EXPECT_EQ(generation_of(0), first);
  const uint64_t second = generation_of(1);
  const uint64_t third = generation_of(0);

  EXPECT_NE(second, first);
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
}

TEST_F(ExpertStoreTest, MoreLeasesThanSlotsIsAnErrorThatSaysWhatWouldDo) {
  const auto store = Make(2 * int4_cost_);
  store->Begin(LayerId{kInt4Layer}, Ids({0, 1, 2}));
  {
    const auto first = store->Next().value();
    const auto second = store->Next().value();

    const auto third = store->Next();

    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::kNotEnoughMemory);
    EXPECT_THAT(
        third.error().message,
        AllOf(HasSubstr("layer 1, expert 2"), HasSubstr(fmt::format("({} bytes)", 3 * int4_cost_)),
              HasSubstr(fmt::format("a budget of {} bytes", 2 * int4_cost_))));
    model_.ExpectRight(first->lease.view(), {LayerId{kInt4Layer}, ExpertId{0}});
    EXPECT_FALSE(store->Next().value());  // the batch is over
  }
  Run(*store, kInt4Layer, AllIds());
}

TEST_F(ExpertStoreTest, GivingALeaseBackStartsTheNextRead) {
  const auto store = Make(5 * int4_cost_);  // three residents, and room to read two more
  Run(*store, kInt4Layer, Ids({2, 3, 4}));
  store->Begin(LayerId{kOtherInt4Layer}, Ids({0, 1, 3}));
  EXPECT_EQ(store->io().in_flight(), 4U);
  {
    const auto first = store->Next().value();
    EXPECT_EQ(store->io().in_flight(), 0U);
  }
  EXPECT_EQ(store->io().in_flight(), 2U);
}

TEST_F(ExpertStoreTest, MovingALeaseKeepsOnePin) {
  const auto store = Make(plenty_, {}, 1);
  store->Begin(LayerId{kInt4Layer}, Ids({0}));
  auto ready = store->Next().value();
  ExpertStore::Lease lease = std::move(ready->lease);
  ready.reset();
  EXPECT_EQ(RunToError(*store, kInt4Layer, Ids({1})).code, ErrorCode::kNotEnoughMemory);

  {
    const ExpertStore::Lease last = std::move(lease);
  }
  Run(*store, kInt4Layer, Ids({1}));
}

// --- failures ---

TEST_F(ExpertStoreTest, AReadThatFailsTwiceSucceedsAtTheThirdTry) {
  const auto store = Make(plenty_, FailFirst(2, {ErrorCode::kIo, "scripted"}));
  Run(*store, kInt4Layer, AllIds());
}

TEST_F(ExpertStoreTest, AShortReadIsReadAgainAsAWhole) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {
    ReadFault fault;
    if (attempt.repetition == 0) {
      fault.error = Error{ErrorCode::kIo, "scripted"};
      fault.bytes_before_error = attempt.request.destination.size() / 2;
    }
    return fault;
  };
  const auto store = Make(plenty_, script);
  Run(*store, kInt4Layer, AllIds());
}

TEST_F(ExpertStoreTest, AReadThatKeepsFailingNamesLayerExpertFileAndPlace) {
  const auto store = Make(plenty_, FailFirst(3, {ErrorCode::kIo, "Input/output error"}));
  const ExpertRecord record = model_.Directory()[kInt4Layer][7];

  const Error error = RunToError(*store, kInt4Layer, Ids({7}));

  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("layer 1, expert 7"), HasSubstr(record.down.codes.file->path()),
                    HasSubstr("tried 3 times: Input/output error")));
  const ExpertLayout layout(record);
  EXPECT_TRUE(std::ranges::any_of(layout.pieces(), [&error](const ExpertLayout::Piece& piece) {
    return error.message.find(fmt::format("at byte {}, {} bytes", piece.offset, piece.needed)) !=
           std::string::npos;
  })) << error.message;
  EXPECT_FALSE(store->Next().value());
  Run(*store, kInt4Layer, Ids({7}));  // the fourth try succeeds
}

// Any one read may fail for good: its expert fails, and only that one.
TEST_F(ExpertStoreTest, OnlyTheExpertOfABadReadFails) {
  const ExpertDirectory directory = model_.Directory();
  for (int bad = 0; bad < ExpertModel::kExperts; ++bad) {
    const ExpertRecord& record = directory[kOtherInt4Layer][static_cast<size_t>(bad)];
    const ExpertLayout layout(record);
    for (const ExpertLayout::Piece& piece : layout.pieces()) {
      FaultScript script{.decide = {}, .shuffle_seed = 1};
      script.decide = [&piece](const ReadAttempt& attempt) {
        const ReadRequest& r = attempt.request;
        ReadFault fault;
        if (r.file == piece.file && r.offset == piece.offset && r.NeededBytes() == piece.needed) {
          fault.error = Error{ErrorCode::kIo, "scripted"};
        }
        return fault;
      };
      auto store = ExpertStore::Create(Options(3 * int8_cost_), directory,
                                       MakeIoFaulty(MakeIoThreads(2), script), MakeLruPolicy());
      const Error error = RunToError(**store, kOtherInt4Layer, AllIds());
      EXPECT_THAT(error.message, HasSubstr(fmt::format("layer 2, expert {}:", bad)));
      auto others = AllIds();
      others.erase(others.begin() + bad);
      Run(**store, kOtherInt4Layer, others);
      Run(**store, kInt4Layer, AllIds());
    }
  }
}

TEST_F(ExpertStoreTest, ScalesThatAreNotFiniteAreRefused) {
  const ExpertRecord record = model_.Directory()[kInt8Layer][2];
  {
    std::fstream file(record.up.scales.file->path(),
                      std::ios::binary | std::ios::in | std::ios::out);
    const uint32_t nan = 0x7fc00000U;
    file.seekp(static_cast<std::streamoff>(record.up.scales.offset + 5 * sizeof(float)));
    file.write(reinterpret_cast<const char*>(&nan), sizeof(nan));
  }
  const auto store = Make(plenty_);

  const Error error = RunToError(*store, kInt8Layer, Ids({2}));

  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, AllOf(HasSubstr("layer 3, expert 2"), HasSubstr(record.up.name),
                                   HasSubstr("at row 5")));
  Run(*store, kInt8Layer, Ids({0, 1, 3}));
}

TEST_F(ExpertStoreTest, AFileCutShortWhileRunningIsAnError) {
  const auto store = Make(plenty_);
  fs::resize_file(model_.path() / "out-00001.safetensors", 5'000);

  const Error error = RunToError(*store, kInt8Layer, AllIds());

  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, AllOf(HasSubstr("layer 3"), HasSubstr("out-00001.safetensors"),
                                   HasSubstr("unexpected end of file")));
  Run(*store, kInt4Layer, AllIds());
}

TEST_F(ExpertStoreTest, AFileReplacedWhileRunningKeepsItsBytes) {
  const auto store = Make(plenty_);
  testing::WriteFile(model_.path() / "new", "something else");
  fs::rename(model_.path() / "new", model_.path() / "out-00000.safetensors");

  Run(*store, kInt4Layer, AllIds());
}

// --- batches that are not finished ---

TEST_F(ExpertStoreTest, AnAbandonedBatchDisturbsNobody) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto store = Make(3 * int8_cost_, {.decide = {}, .shuffle_seed = seed});
    store->Begin(LayerId{kInt4Layer}, AllIds());
    {
      const auto one = store->Next();
    }
    Run(*store, kInt8Layer, Ids({0, 5, 9}));
    store->Begin(LayerId{kOtherInt4Layer}, AllIds());
    Run(*store, kOtherInt4Layer, Ids({0, 1, 2}));  // some of these are on their way already
    store->Begin(LayerId{kInt8Layer}, AllIds());
  }  // the store goes with reads in flight
}

TEST_F(ExpertStoreTest, ReadsOnTheirWayAreNotRepeated) {
  const auto store = Make(plenty_);
  store->Begin(LayerId{kInt4Layer}, AllIds());

  Run(*store, kInt4Layer, AllIds());

  EXPECT_EQ(store->stats().misses, 10U);
  EXPECT_EQ(store->stats().hits, 10U);
}

TEST_F(ExpertStoreTest, AnAbandonedReadThatFailsIsForgotten) {
  FaultScript script;
  script.decide = [](const ReadAttempt& attempt) {
    ReadFault fault;
    fault.hold_back = 3;
    if (attempt.number < 2 || attempt.repetition > 0) {
      fault.error = Error{ErrorCode::kIo, "scripted"};
    }
    return fault;
  };
  const auto store = Make(plenty_, script, 1);
  store->Begin(LayerId{kInt4Layer}, Ids({0}));

  Run(*store, kOtherInt4Layer,
      Ids({4}));  // waits for the only slot until the bad read has given up
}

// --- the budget ---

TEST_F(ExpertStoreTest, ABudgetWithoutRoomForOneExpertIsRefusedWithTheNumber) {
  const auto store = ExpertStore::Create(Options(int8_cost_ - 1), model_.Directory(),
                                         MakeIoThreads(1), MakeLruPolicy());

  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kNotEnoughMemory);
  EXPECT_THAT(store.error().message,
              AllOf(HasSubstr(fmt::format("at least {} bytes", int8_cost_)), HasSubstr("layer 3"),
                    HasSubstr(fmt::format("found {}", int8_cost_ - 1))));

  const auto none = ExpertStore::Create(Options(plenty_, 0), model_.Directory(), MakeIoThreads(1),
                                        MakeLruPolicy());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ExpertStoreTest, OneWideLayerDoesNotShrinkTheCacheOfTheOthers) {
  ASSERT_LT(int4_cost_, int8_cost_);
  const auto store = Make(8 * int4_cost_ + int8_cost_);  // eight residents, and room for reads
  EXPECT_EQ(store->slots(), 9U);
  EXPECT_EQ(store->slot_bytes(), int8_cost_);
  const auto eight = Ids({0, 1, 2, 3, 4, 5, 6, 7});

  Run(*store, kInt4Layer, eight);
  Run(*store, kInt4Layer, eight);
  EXPECT_EQ(store->stats().hits, 8U);
  EXPECT_EQ(store->stats().evictions, 0U);

  Run(*store, kInt8Layer, Ids({0}));  // takes the place of as many as it needs
  EXPECT_EQ(store->stats().evictions, (int8_cost_ + int4_cost_ - 1) / int4_cost_);
  Run(*store, kInt4Layer, eight);
  Run(*store, kInt4Layer, eight);
  EXPECT_LE(store->held_bytes(), 8 * int4_cost_ + int8_cost_);
}

TEST_F(ExpertStoreTest, MemoryIsTakenAtFirstUse) {
  const auto store = Make(plenty_);
  EXPECT_EQ(store->held_bytes(), 0U);
  Run(*store, kInt4Layer, Ids({0, 1}));
  EXPECT_EQ(store->held_bytes(), 2 * int4_cost_);
}

// --- everything at once ---

TEST_F(ExpertStoreTest, RandomUseWithRandomFaultsAlwaysGivesTheRightBytes) {
  for (uint64_t seed = 0; seed < 15; ++seed) {
    std::mt19937_64 random(seed);
    FaultScript script{.decide = {}, .shuffle_seed = seed};
    script.decide = [seed](const ReadAttempt& attempt) {
      ReadFault fault;
      fault.hold_back = attempt.number * seed % 4;
      if ((attempt.number + seed) % 11 == 0) {
        fault.error = Error{ErrorCode::kIo, "scripted"};
      }
      return fault;
    };
    const uint64_t budget = (3 + random() % 10) * int8_cost_;
    const auto store = Make(budget, script);
    std::deque<ExpertStore::Lease> held;  // for a while, across batches

    for (int batch = 0; batch < 60; ++batch) {
      const int layer = 1 + static_cast<int>(random() % 3);
      std::vector<ExpertId> ids;
      for (const ExpertId id : AllIds()) {
        if (random() % 2 == 0) {
          ids.push_back(id);
        }
      }
      store->Begin(LayerId{layer}, ids);
      for (uint64_t left = random() % 12; left > 0; --left) {  // fewer than there are: abandoned
        auto ready = store->Next();
        ASSERT_TRUE(ready) << ready.error().message;
        if (!*ready) {
          break;
        }
        model_.ExpectRight((*ready)->lease.view(), {LayerId{layer}, ids.at((*ready)->index)});
        if (random() % 4 == 0) {
          held.push_back(std::move((*ready)->lease));
        }
        if (held.size() > 2) {
          held.pop_front();
        }
      }
      for (const auto& lease : held) {
        model_.ExpectRight(lease.view(), lease.key());
      }
      ASSERT_LE(store->held_bytes(), budget);
    }
  }
}

// The same with real threads and no script, for ThreadSanitizer.
TEST_F(ExpertStoreTest, ThreadsAndATinyCache) {
  auto store = ExpertStore::Create(Options(3 * int8_cost_), model_.Directory(), MakeIoThreads(8),
                                   MakeLruPolicy());
  for (int token = 0; token < 30; ++token) {
    for (int layer = 1; layer < ExpertModel::kLayers; ++layer) {
      Run(**store, layer, AllIds());
    }
    (*store)->Begin(LayerId{1 + token % 3}, AllIds());
  }
}

}  // namespace
}  // namespace coli
