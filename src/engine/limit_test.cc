#include "engine/limit.h"

#include <gtest/gtest.h>

#include <vector>

namespace coli {
namespace {

// An answer that took two seconds, on a machine that reads 10 GB/s.
GenerationStats Answer(double wait_s, uint64_t weight_bytes) {
  GenerationStats stats;
  stats.work.prefill.seconds = 1;
  stats.work.prefill.wait_s = wait_s / 4;
  stats.work.decode.seconds = 1;
  stats.work.decode.wait_s = 3 * wait_s / 4;
  stats.work.weight_bytes = weight_bytes;
  stats.memory_bytes_per_s = 10e9;
  return stats;
}

TEST(Limit, IsTheDriveWhenWaitingIsHalfOfTheTime) {
  EXPECT_EQ(LimitOf(Answer(1.0, 0)), AnswerLimit::kDisk);
  EXPECT_EQ(LimitOf(Answer(1.2, 100'000'000'000)), AnswerLimit::kDisk);
  EXPECT_NE(LimitOf(Answer(0.9, 0)), AnswerLimit::kDisk);
}

TEST(Limit, IsMemoryWhenTheWeightsTakeHalfOfTheComputing) {
  EXPECT_EQ(LimitOf(Answer(0, 10'000'000'000)), AnswerLimit::kMemory);
  EXPECT_EQ(LimitOf(Answer(0, 9'900'000'000)), AnswerLimit::kCompute);
  EXPECT_EQ(LimitOf(Answer(0.8, 6'000'000'000)), AnswerLimit::kMemory);
}

TEST(Limit, IsNeverMemoryWhereNobodyKnowsItsSpeed) {
  GenerationStats stats = Answer(0, 100'000'000'000);
  stats.memory_bytes_per_s = 0;
  EXPECT_EQ(LimitOf(stats), AnswerLimit::kCompute);
}

TEST(Limit, OfNothingIsNothing) { EXPECT_EQ(LimitOf({}), std::nullopt); }

TEST(Limit, SamplingIsComputing) {
  GenerationStats stats = Answer(1.0, 0);
  stats.work.sampling_s = 0.5;
  EXPECT_EQ(LimitOf(stats), AnswerLimit::kCompute);
}

TEST(WorkTimes, AddAndSubtractEveryMember) {
  const WorkTimes a{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {10, 20, 30, 40, 50, 60, 70, 80, 90}, 100, 200};
  const WorkTimes sum = a + a;
  const auto members = [](const WorkTimes& w) {
    std::vector<double> all;
    for (const StepWork& s : {w.prefill, w.decode}) {
      for (const double time : {s.seconds, s.wait_s, s.overlap_s, s.drive_s}) {
        all.push_back(time);
      }
      for (const uint64_t count :
           {s.expert_hits, s.expert_misses, s.bytes_read, s.guesses_used, s.guesses_wasted}) {
        all.push_back(static_cast<double>(count));
      }
    }
    all.push_back(w.sampling_s);
    all.push_back(static_cast<double>(w.weight_bytes));
    return all;
  };
  EXPECT_EQ(members(sum), (std::vector<double>{2,  4,  6,  8,   10,  12,  14,  16,  18,  20,
                                               40, 60, 80, 100, 120, 140, 160, 180, 200, 400}));
  EXPECT_EQ(members(sum - a), members(a));
}

}  // namespace
}  // namespace coli
