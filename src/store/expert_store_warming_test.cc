// In which order an ExpertStore reads experts of earlier runs, and how it says how far that is.
#include <gtest/gtest.h>

#include "store/expert_store.h"
#include "store/testing/experts.h"
#include "sys/io_faulty.h"
#include "sys/io_threads.h"

namespace coli {
namespace {

using coli::testing::ExpertModel;

constexpr LayerId kLayer{1};

std::vector<ExpertId> Ids(const std::vector<int>& ids) {
  std::vector<ExpertId> result;
  for (const int id : ids) {
    result.push_back(ExpertId{id});
  }
  return result;
}

class ExpertStoreWarmingTest : public ::testing::Test {
 protected:
  // A budget for `slots` experts of kLayer; reads are completed in the order in which they begin.
  std::unique_ptr<ExpertStore> Make(size_t slots) {
    ExpertStoreOptions options;
    options.reader.budget_bytes = slots * cost_;
    auto store = ExpertStore::Create(options, model_.Directory(),
                                     MakeIoFaulty(MakeIoThreads(2), {}), MakeLruPolicy());
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }

  const ExpertModel model_;
  const uint64_t cost_ = model_.Cost(1);
};

std::vector<ExpertKey> InLayer(const std::vector<ExpertId>& ids) {
  std::vector<ExpertKey> keys;
  for (const ExpertId id : ids) {
    keys.push_back({kLayer, id});
  }
  return keys;
}

TEST_F(ExpertStoreWarmingTest, WarmingReadsTheBestFirstAndNoneThatHasNoRoom) {
  const auto store = Make(6);
  const std::vector<ExpertId> order = Ids({7, 2, 9, 0, 5, 1, 3});
  const size_t room = store->cache().capacity_bytes() / cost_;
  ASSERT_LT(room, order.size());
  store->Warm(InLayer(order));
  while (store->left_to_warm() > 0) {
    store->Pump();
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(store->cache().Contains({kLayer, order[i]}), i < store->cache().residents()) << i;
    }
  }
  EXPECT_EQ(store->cache().residents(), room);
}

TEST_F(ExpertStoreWarmingTest, WarmingSaysHowManyBytesThereAreAndHowManyAreDone) {
  const auto store = Make(6);
  const size_t room = store->cache().capacity_bytes() / cost_;
  EXPECT_EQ(store->warm_bytes().total, 0U);
  store->Warm(InLayer(Ids({7, 2, 9, 0, 5, 1, 3})));
  EXPECT_EQ(store->warm_bytes().total, room * cost_);
  EXPECT_EQ(store->warm_bytes().done, 0U);

  uint64_t done = 0;
  while (store->left_to_warm() > 0) {
    store->Pump();
    EXPECT_GE(store->warm_bytes().done, done);
    done = store->warm_bytes().done;
    EXPECT_TRUE(store->left_to_warm() == 0 || done == store->cache().residents() * cost_);
  }
  EXPECT_EQ(done, room * cost_);
}

TEST_F(ExpertStoreWarmingTest, WarmingIsDoneWhenOthersHaveTakenItsRoom) {
  const auto store = Make(6);
  store->Warm(InLayer(Ids({7, 2, 9})));
  store->Begin(LayerId{2}, Ids({0, 1, 2, 3, 4}), Purpose::kDecode);
  while (store->Next().value()) {
  }
  while (store->left_to_warm() > 0) {
    store->Pump();
  }
  EXPECT_EQ(store->warm_bytes().total, 3 * cost_);
  EXPECT_EQ(store->warm_bytes().done, 3 * cost_);
}

}  // namespace
}  // namespace coli
