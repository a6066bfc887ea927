#include "cli/work_report.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

GenerationStats Answer() {
  GenerationStats stats;
  stats.prompt_tokens = 24;
  stats.reused_tokens = 18;
  stats.completion_tokens = 11;
  stats.work = {.prefill = {.seconds = 1.5,
                            .wait_s = 1,
                            .overlap_s = 0.1,
                            .drive_s = 1.2,
                            .expert_hits = 23,
                            .expert_misses = 6,
                            .bytes_read = 1 << 20},
                .decode = {.seconds = 2,
                           .wait_s = 1.9,
                           .overlap_s = 0.1,
                           .drive_s = 2,
                           .expert_hits = 70,
                           .expert_misses = 1,
                           .bytes_read = 2 << 20,
                           .guesses_used = 3,
                           .guesses_wasted = 1},
                .sampling_s = 0.5,
                .weight_bytes = uint64_t{5} << 30};
  stats.cache_bytes = uint64_t{3} << 30;
  stats.cache_budget_bytes = uint64_t{4} << 30;
  return stats;
}

TEST(WorkReport, ShowsTheLastAnswerBesideAll) {
  GenerationStats all = Answer();
  AddStats(Answer(), all);

  EXPECT_EQ(WorkReport(Answer(), all),
            "                                        last answer      all answers\n"
            "prompt tokens computed                            6               12\n"
            "tokens of answers                                11               22\n"
            "prefill: computing                     0.50 s, 12 %     1.00 s, 12 %\n"
            "prefill: waiting for the drive         1.00 s, 25 %     2.00 s, 25 %\n"
            "decode: computing                       0.10 s, 3 %      0.20 s, 3 %\n"
            "decode: waiting for the drive          1.90 s, 48 %     3.80 s, 48 %\n"
            "sampling                               0.50 s, 12 %     1.00 s, 12 %\n"
            "limit                                          disk             disk\n"
            "experts from RAM                               93 %             93 %\n"
            "read from the drive                        3.00 MiB         6.00 MiB\n"
            "the drive was busy                     3.20 s, 80 %     6.40 s, 80 %\n"
            "of it while experts were computed       0.20 s, 5 %      0.40 s, 5 %\n"
            "experts read ahead, and used                4, 75 %          8, 75 %\n"
            "weights read from RAM                      5.00 GiB         10.0 GiB\n"
            "expert cache: 3.00 GiB of 4.00 GiB in use\n");
}

TEST(WorkReport, NothingWorkedIsNoDivisionByZero) {
  EXPECT_NE(WorkReport({}, {}).find("0 s, -"), std::string::npos);
}

}  // namespace
}  // namespace coli
