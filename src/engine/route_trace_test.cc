#include "engine/route_trace.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/testing/golden.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

class RouteTraceTest : public ::testing::Test {
 protected:
  const coli::testing::TempDirectory directory_;
  const std::filesystem::path path_ = directory_ / "trace";
};

// 9 rows of a prompt in steps of 6 and 3, each row once in each layer with experts.
TEST_F(RouteTraceTest, EveryRowOfEveryLayerIsRecordedInOrder) {
  EngineOptions options = coli::testing::GoldenOptions("t0");
  options.trace_routing = path_;
  const auto model = coli::testing::LoadGolden(options);
  ASSERT_NE(model, nullptr);

  coli::testing::Logits(*model, coli::testing::Tokens(9), 6);
  ASSERT_TRUE(model->FinishTrace());

  const auto trace = RoutingTrace::Read(path_);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  const ModelConfig& config = model->config();
  EXPECT_EQ(trace->header().experts_per_token, config.router.experts_per_token);
  std::vector<size_t> rows(trace->header().layers.size());
  std::vector<size_t> steps(rows.size());
  for (size_t i = 0; i < trace->rows(); ++i) {
    const RoutedRow row = trace->row(i);
    ++rows[static_cast<size_t>(Raw(row.layer))];
    steps[static_cast<size_t>(Raw(row.layer))] += row.begins_step ? 1U : 0U;
    // What the router chose is what scored best.
    for (size_t rank = 0; rank < row.ranked.size(); ++rank) {
      EXPECT_EQ(row.ranked[rank].chosen, rank < config.router.experts_per_token);
    }
  }
  for (size_t layer = 0; layer < rows.size(); ++layer) {
    const bool has_experts = trace->header().layers[layer].experts > 0;
    EXPECT_EQ(rows[layer], has_experts ? 9U : 0U) << layer;
    EXPECT_EQ(steps[layer], has_experts ? 2U : 0U) << layer;
  }
}

TEST_F(RouteTraceTest, AFileThatExistsIsRefusedBeforeTheModelRuns) {
  EngineOptions options = coli::testing::GoldenOptions("t0");
  options.trace_routing = "tests/golden/t0/config.json";

  const auto engine = Engine::Create(options);

  ASSERT_FALSE(engine.has_value());
  EXPECT_TRUE(engine.error().message.starts_with("trace-routing: tests/golden/t0/config.json: "))
      << engine.error().message;
}

TEST_F(RouteTraceTest, AModelThatDoesNotLoadLeavesNoFile) {
  EngineOptions options = coli::testing::GoldenOptions("t0");
  options.trace_routing = path_;
  options.mirrors = {"no/such/directory"};  // opened after the trace

  const auto model = LoadedModel::Load(options);

  ASSERT_FALSE(model.has_value());
  EXPECT_TRUE(model.error().message.starts_with("model-mirror: ")) << model.error().message;
  EXPECT_FALSE(std::filesystem::exists(path_));
  options.mirrors.clear();
  EXPECT_TRUE(LoadedModel::Load(options).has_value()) << "the name is free";
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace coli
