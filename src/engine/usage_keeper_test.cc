#include "engine/usage_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "engine/engine.h"
#include "engine/testing/golden.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using std::chrono::seconds;
using testing::TempDirectory;

const std::vector<size_t> kShape = {0, 3};
const ExpertKey kKey{LayerId{1}, ExpertId{2}};

class UsageKeeperTest : public ::testing::Test {
 protected:
  UsageKeeperTest() : counter_(MakeScorePolicy()) { counter_.Prepare(kShape); }

  UsageFile File() const { return {directory_.path() / "state", 7, kShape}; }
  uint64_t SavedUses() const { return File().Load().value()[1][2].uses; }

  TempDirectory directory_;
  UsageCounter counter_;
};

TEST_F(UsageKeeperTest, SavesAfterTheIntervalAndNotBefore) {
  UsageKeeper keeper(File(), counter_);
  const UsageKeeper::Clock::time_point start{};
  counter_.OnUse(kKey);

  keeper.AfterStep(start);
  keeper.AfterStep(start + UsageKeeper::kInterval - seconds(1));
  EXPECT_EQ(SavedUses(), 0U);

  keeper.AfterStep(start + UsageKeeper::kInterval);
  EXPECT_EQ(SavedUses(), 1U);
}

TEST_F(UsageKeeperTest, EveryUseIsSavedOnce) {
  UsageKeeper keeper(File(), counter_);
  counter_.OnUse(kKey);
  keeper.Save();
  counter_.OnUse(kKey);
  keeper.Save();
  keeper.Save();
  EXPECT_EQ(SavedUses(), 2U);
  EXPECT_EQ(keeper.Load(), std::vector<ExpertKey>{kKey});
  EXPECT_TRUE(keeper.TakeNotices().empty());
}

TEST_F(UsageKeeperTest, AFailedSaveIsToldOnceAndTriedAgain) {
  UsageKeeper keeper(File(), counter_);
  testing::WriteFile(directory_ / "state", "in the way");
  counter_.OnUse(kKey);
  keeper.Save();
  keeper.Save();
  EXPECT_EQ(keeper.TakeNotices().size(), 1U);

  std::filesystem::remove(directory_ / "state");
  keeper.Save();
  EXPECT_EQ(SavedUses(), 1U);
}

TEST_F(UsageKeeperTest, StatisticsThatCannotBeReadAreANotice) {
  testing::WriteFile(directory_ / "state", "in the way");
  UsageKeeper keeper(File(), counter_);
  EXPECT_TRUE(keeper.Load().empty());
  EXPECT_EQ(keeper.TakeNotices().size(), 1U);
  counter_.OnUse(kKey);
  keeper.Save();
  EXPECT_TRUE(keeper.TakeNotices().empty());
}

TEST(WeightOfWork, GrowsWithTheWork) {
  UsageTable work = EmptyUsage(kShape);
  EXPECT_EQ(WeightOfWork(work), 0);
  work[1][0].uses = 1024;
  work[1][1].uses = 1024;
  EXPECT_DOUBLE_EQ(WeightOfWork(work), 0.5);
  work[1][2].uses = 1 << 30;
  EXPECT_GT(WeightOfWork(work), 0.99);
  EXPECT_LE(WeightOfWork(work), 1);
}

// What an engine of the golden model t0 says to a prompt.
std::vector<TokenId> Say(const std::filesystem::path& state) {
  EngineOptions options = testing::GoldenOptions("t0");
  options.state_dir = state;
  options.cache_experts = 12;
  const auto engine = Engine::Create(options).value();
  GenerationRequest request;
  request.prompt = testing::Tokens(10);
  request.max_tokens = 24;
  request.sampling.temperature = 0;
  const auto stream = engine->Submit(std::move(request)).value();
  std::vector<TokenId> tokens;
  for (;;) {
    const TokenStream::Event event = stream->Next(std::chrono::seconds(1));
    if (const TokenId* token = std::get_if<TokenId>(&event)) {
      tokens.push_back(*token);
    } else if (std::holds_alternative<TokenStream::End>(event)) {
      return tokens;
    }
  }
}

// All experts of the model of a state directory get numbers that mean nothing.
void Scramble(const std::filesystem::path& state, int round) {
  Database database = Database::Open(state / "usage.db").value();
  ASSERT_TRUE(database.Run(
      fmt::format("UPDATE usage SET uses = (layer * 7919 + expert * 104729 + {0}) % 1000, "
                  "score = ((layer * 31 + expert * 17 + {0} * 13) % 101) / 10.0",
                  round)
          .c_str()));
}

int64_t UsesIn(const std::filesystem::path& state) {
  auto database = Database::Open(state / "usage.db");
  auto uses = database ? database->Integer("SELECT sum(uses) FROM usage")
                       : Result<int64_t>(tl::unexpected(database.error()));
  EXPECT_TRUE(uses) << uses.error().message;
  return uses.value_or(-1);
}

TEST(UsageStatistics, ChangeNoToken) {
  const TempDirectory directory;
  const std::vector<TokenId> without = Say({});
  ASSERT_EQ(without.size(), 24U);
  const std::filesystem::path state = directory / "state";
  EXPECT_EQ(Say(state), without);
  ASSERT_GT(UsesIn(state), 0);
  for (int round = 0; round < 5; ++round) {
    Scramble(state, round);
    EXPECT_EQ(Say(state), without);
  }
}

TEST(UsageStatistics, AnEngineSavesItsUsesAtItsEnd) {
  const TempDirectory directory;
  const std::filesystem::path state = directory / "state";
  Say(state);
  const int64_t once = UsesIn(state);
  EXPECT_GT(once, 24);
  Say(state);
  EXPECT_EQ(UsesIn(state), 2 * once);
}

// Experts that the first answer of an engine had to wait for, if it had `pause` before.
uint64_t MissesAfter(const std::filesystem::path& state, std::chrono::milliseconds pause) {
  EngineOptions options = testing::GoldenOptions("t0");
  options.state_dir = state;
  const auto engine = Engine::Create(options).value();
  std::this_thread::sleep_for(pause);
  GenerationRequest request;
  request.prompt = testing::Tokens(10);
  request.max_tokens = 8;
  request.sampling.temperature = 0;
  const auto stream = engine->Submit(std::move(request)).value();
  while (!std::holds_alternative<TokenStream::End>(stream->Next(std::chrono::seconds(1)))) {
  }
  return stream->outcome()->stats.work.steps().expert_misses;
}

TEST(UsageStatistics, AnEngineSaysHowFarWarmingIs) {
  const TempDirectory directory;
  EngineOptions options = testing::GoldenOptions("t0");
  options.state_dir = directory / "state";
  EXPECT_EQ(Engine::Create(options).value()->warming().total_bytes, 0U);
  Say(options.state_dir);
  const auto engine = Engine::Create(options).value();

  EXPECT_GT(engine->warming().total_bytes, 0U);
  for (int i = 0; i < 1000 && !engine->warming().over(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(engine->warming().over());
  EXPECT_GT(engine->warming().done_bytes, 0U);
}

TEST(UsageStatistics, WarmTheCacheOfTheNextRun) {
  const TempDirectory directory;
  const std::filesystem::path state = directory / "state";
  const uint64_t cold = MissesAfter(state, {});
  ASSERT_GT(cold, 0U);
  uint64_t warm = cold;
  for (int pause_ms = 50; warm > 0 && pause_ms <= 3200; pause_ms *= 2) {
    warm = MissesAfter(state, std::chrono::milliseconds(pause_ms));
  }
  EXPECT_EQ(warm, 0U);
}

}  // namespace
}  // namespace coli
