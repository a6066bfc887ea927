#include "cli/work_report.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

GenerationStats Answer() {
  GenerationStats stats;
  stats.prompt_tokens = 24;
  stats.reused_tokens = 18;
  stats.completion_tokens = 11;
  stats.expert_hits = 93;
  stats.expert_misses = 7;
  stats.bytes_read = 3 << 20;
  stats.work = {.prefill_s = 1.5,
                .prefill_wait_s = 1,
                .decode_s = 2,
                .decode_wait_s = 1.9,
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
            "                                       last answer        all answers\n"
            "prompt tokens computed                           6                 12\n"
            "tokens of answers                               11                 22\n"
            "prefill: computing                    0.50 s, 12 %       1.00 s, 12 %\n"
            "prefill: waiting for the drive        1.00 s, 25 %       2.00 s, 25 %\n"
            "decode: computing                      0.10 s, 3 %        0.20 s, 3 %\n"
            "decode: waiting for the drive         1.90 s, 48 %       3.80 s, 48 %\n"
            "sampling                              0.50 s, 12 %       1.00 s, 12 %\n"
            "limit                                         disk               disk\n"
            "experts from RAM                              93 %               93 %\n"
            "read from the drive                       3.00 MiB           6.00 MiB\n"
            "weights read from RAM                     5.00 GiB           10.0 GiB\n"
            "expert cache: 3.00 GiB of 4.00 GiB in use\n");
}

TEST(WorkReport, NothingWorkedIsNoDivisionByZero) {
  EXPECT_NE(WorkReport({}, {}).find("0 s, -"), std::string::npos);
}

}  // namespace
}  // namespace coli
