// What the policies must reach: on routing that the built-in model recorded, and on routing that
// was made up after GLM-5.2.
#include <gtest/gtest.h>

#include "tools/cache_sim/replay.h"
#include "tools/cache_sim/synthetic.h"

namespace coli::cache_sim {
namespace {

// coli ask of 11 prompts of tools/nano/held_out.jsonl, --parallel 1.
RoutingTrace Recorded() {
  auto trace = RoutingTrace::Read("tools/cache_sim/testdata/nano.trace");
  EXPECT_TRUE(trace.has_value()) << trace.error().message;
  return *std::move(trace);
}

class Judge {
 public:
  explicit Judge(RoutingTrace trace)
      : trace_(std::move(trace)), batches_(MakeBatches(trace_, Grouping::kRows)) {}

  double Rate(std::string_view policy, uint64_t bytes) const {
    return Replay(trace_, batches_, bytes,
                  MakeCachePolicy(policy, trace_.header().experts_per_token).value())
        .rate();
  }
  double Belady(uint64_t bytes) const { return ReplayBelady(trace_, batches_, bytes).rate(); }
  uint64_t Share(double share) const {
    return static_cast<uint64_t>(share * static_cast<double>(TotalBytes(trace_.header())));
  }
  const RoutingTrace& trace() const { return trace_; }
  const std::vector<Batch>& batches() const { return batches_; }

 private:
  const RoutingTrace trace_;
  const std::vector<Batch> batches_;
};

TEST(RecordedRouting, TheDefaultIsNeverBelowRecencyAndNeverAboveForesight) {
  const Judge judge(Recorded());
  for (int percent = 5; percent <= 95; percent += 5) {
    const uint64_t bytes = judge.Share(percent / 100.0);
    const double score = judge.Rate(kDefaultCachePolicy, bytes);
    EXPECT_GE(score, judge.Rate("lru", bytes)) << percent;
    EXPECT_LE(score, judge.Belady(bytes)) << percent;
  }
}

TEST(RecordedRouting, AtAQuarterOfTheExpertsTheDefaultIsFarAboveRecency) {
  const Judge judge(Recorded());
  const uint64_t quarter = judge.Share(0.25);
  EXPECT_GE(judge.Rate(kDefaultCachePolicy, quarter), judge.Rate("lru", quarter) + 0.05);
  EXPECT_GE(judge.Rate(kDefaultCachePolicy, quarter), 0.66 * judge.Belady(quarter));
  const uint64_t most = judge.Share(0.4);
  EXPECT_GE(judge.Rate(kDefaultCachePolicy, most), 0.75 * judge.Belady(most));
}

// 20 experts of 160 are one token's: half of that still gives half of what foresight finds.
TEST(RecordedRouting, BelowOneTokensSetTheDefaultDoesNotThrash) {
  const Judge judge(Recorded());
  const uint64_t half_a_token = judge.Share(10.0 / 160);
  EXPECT_LT(judge.Rate("lru", half_a_token), 0.02);
  EXPECT_GE(judge.Rate(kDefaultCachePolicy, half_a_token), 0.5 * judge.Belady(half_a_token));
}

// What makes the made-up routing like GLM-5.2, each layer alone.
TEST(MadeUpRouting, IsCalibrated) {
  SyntheticRouting routing = CalibratedRouting();
  routing.layers = 1;
  constexpr std::array<uint64_t, 4> kPlaces{1, 2, 4, 8};
  std::array<double, 4> belady{};
  double overlap = 0;
  constexpr int kSeeds = 8;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    routing.seed = static_cast<uint64_t>(seed);
    const Judge judge(MakeTrace(routing));
    overlap += Overlap(judge.trace(), judge.batches()) / kSeeds;
    for (size_t i = 0; i < kPlaces.size(); ++i) {
      belady[i] += judge.Belady(kPlaces[i] * routing.expert_bytes) / kSeeds;
    }
  }
  EXPECT_NEAR(overlap, 0.37, 0.015);
  EXPECT_NEAR(belady[0], 0.117, 0.015);
  EXPECT_NEAR(belady[1], 0.217, 0.015);
  EXPECT_NEAR(belady[2], 0.365, 0.015);
  EXPECT_NEAR(belady[3], 0.515, 0.015);
}

// 16 GB are 11.3 places in each of 75 layers; 15 layers behave alike and take a fifth of the time.
TEST(MadeUpRouting, TheDefaultReachesSevenTenthsOfForesight) {
  SyntheticRouting routing = CalibratedRouting();
  routing.layers = 15;
  routing.tokens = 200;
  const Judge judge(MakeTrace(routing));
  for (const double gigabytes : {8.0, 16.0, 128.0}) {
    const auto bytes = static_cast<uint64_t>(gigabytes * 1e9 / 5);
    const double score = judge.Rate(kDefaultCachePolicy, bytes);
    EXPECT_GE(score, judge.Rate("lru", bytes)) << gigabytes;
    if (gigabytes == 16.0) {
      EXPECT_GE(score, 0.69 * judge.Belady(bytes));
    }
  }
}

}  // namespace
}  // namespace coli::cache_sim
