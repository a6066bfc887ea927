#include "engine/limit.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

// An answer that took two seconds, on a machine that reads 10 GB/s.
GenerationStats Answer(double wait_s, uint64_t weight_bytes) {
  GenerationStats stats;
  stats.work.prefill_s = 1;
  stats.work.prefill_wait_s = wait_s / 4;
  stats.work.decode_s = 1;
  stats.work.decode_wait_s = 3 * wait_s / 4;
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
  const WorkTimes a{1, 2, 3, 4, 5, 6};
  const WorkTimes sum = a + a;
  EXPECT_EQ(sum.prefill_s, 2);
  EXPECT_EQ(sum.prefill_wait_s, 4);
  EXPECT_EQ(sum.decode_s, 6);
  EXPECT_EQ(sum.decode_wait_s, 8);
  EXPECT_EQ(sum.sampling_s, 10);
  EXPECT_EQ(sum.weight_bytes, 12U);
  EXPECT_EQ((sum - a).decode_wait_s, 4);
  EXPECT_EQ((sum - a).weight_bytes, 6U);
}

}  // namespace
}  // namespace coli
