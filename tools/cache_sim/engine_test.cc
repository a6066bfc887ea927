// The simulator says what the engine does: the same hits on the same routing.
#include <gtest/gtest.h>

#include "engine/testing/golden.h"
#include "sys/testing/temp_directory.h"
#include "tools/cache_sim/replay.h"

namespace coli::cache_sim {
namespace {

// A prompt in one step and an answer row by row, with room for a quarter of the experts.
class Agreement : public ::testing::TestWithParam<const char*> {};  // the policy

TEST_P(Agreement, OfTheSimulatorWithTheEngine) {
  const testing::TempDirectory directory;
  const std::filesystem::path path = directory / "trace";
  EngineOptions options;
  options.model_dir = "models/nano";
  options.threads = 2;
  options.context = 256;
  options.cache_experts = 40;
  options.cache_policy = GetParam();
  options.trace_routing = path;
  const auto model = testing::LoadGolden(options);
  ASSERT_NE(model, nullptr);

  testing::Logits(*model, testing::Tokens(20), 20);
  testing::Logits(*model, testing::Tokens(200, 2), 1);

  ASSERT_TRUE(model->FinishTrace());
  const auto trace = RoutingTrace::Read(path);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  const ExpertStoreStats stats = model->experts().stats();
  const double engine =
      static_cast<double>(stats.hits) / static_cast<double>(stats.hits + stats.misses);
  const HitCount simulated = Replay(*trace, MakeBatches(*trace, Grouping::kSteps),
                                    model->experts().cache().capacity_bytes(),
                                    MakeCachePolicy(GetParam(), 4).value(), {.warm_up = 0});
  EXPECT_EQ(simulated.requests, stats.hits + stats.misses);
  EXPECT_GT(engine, 0.1);
  EXPECT_NEAR(simulated.rate(), engine, 0.015);
}

INSTANTIATE_TEST_SUITE_P(Policies, Agreement, ::testing::Values("lru", "score"));

}  // namespace
}  // namespace coli::cache_sim
