#include "cli/work_report.h"

#include <algorithm>
#include <functional>

#include "cli/human.h"
#include "engine/limit.h"

namespace coli {
namespace {

std::string Share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : std::string("-");
}

// "1.20 s, 43 %": of the time that the engine worked.
std::string TimeText(double seconds, const GenerationStats& stats) {
  const double worked_s = stats.work.wait_s() + stats.work.compute_s();
  return fmt::format("{}, {}", FormatDuration(seconds), Share(seconds, worked_s));
}

std::string FromRam(const GenerationStats& stats) {
  const StepWork work = stats.work.steps();
  return Share(static_cast<double>(work.expert_hits), static_cast<double>(work.expert_uses()));
}

// "120, 40 %".
std::string Guesses(const GenerationStats& stats) {
  const StepWork work = stats.work.steps();
  const uint64_t all = work.guesses_used + work.guesses_wasted;
  return fmt::format("{}, {}", all,
                     Share(static_cast<double>(work.guesses_used), static_cast<double>(all)));
}

std::string LimitText(const GenerationStats& stats) {
  const auto limit = LimitOf(stats);
  return std::string(limit ? LimitName(*limit) : "-");
}

struct Line {
  const char* name;
  std::string (*value)(const GenerationStats& stats);
};
constexpr Line kLines[] = {
    {"prompt tokens computed",
     [](const GenerationStats& s) { return fmt::format("{}", s.prompt_tokens - s.reused_tokens); }},
    {"tokens of answers",
     [](const GenerationStats& s) { return fmt::format("{}", s.completion_tokens); }},
    {"prefill: computing",
     [](const GenerationStats& s) {
       return TimeText(s.work.prefill.seconds - s.work.prefill.wait_s, s);
     }},
    {"prefill: waiting for the drive",
     [](const GenerationStats& s) { return TimeText(s.work.prefill.wait_s, s); }},
    {"decode: computing",
     [](const GenerationStats& s) {
       return TimeText(s.work.decode.seconds - s.work.decode.wait_s, s);
     }},
    {"decode: waiting for the drive",
     [](const GenerationStats& s) { return TimeText(s.work.decode.wait_s, s); }},
    {"sampling", [](const GenerationStats& s) { return TimeText(s.work.sampling_s, s); }},
    {"limit", LimitText},
    {"experts from RAM", FromRam},
    {"read from the drive",
     [](const GenerationStats& s) { return FormatBytes(s.work.steps().bytes_read); }},
    {"the drive was busy",
     [](const GenerationStats& s) { return TimeText(s.work.steps().drive_s, s); }},
    {"of it while experts were computed",
     [](const GenerationStats& s) { return TimeText(s.work.steps().overlap_s, s); }},
    {"experts read ahead, and used", Guesses},
    {"weights read from RAM",
     [](const GenerationStats& s) { return FormatBytes(s.work.weight_bytes); }},
};

}  // namespace

void AddStats(const GenerationStats& more, GenerationStats& sum) {
  sum.prompt_tokens += more.prompt_tokens;
  sum.reused_tokens += more.reused_tokens;
  sum.completion_tokens += more.completion_tokens;
  sum.queued_s += more.queued_s;
  sum.prefill_s += more.prefill_s;
  sum.first_token_s += more.first_token_s;
  sum.decode_s += more.decode_s;
  sum.work = sum.work + more.work;
  sum.memory_bytes_per_s = more.memory_bytes_per_s;
  sum.cache_bytes = more.cache_bytes;
  sum.cache_budget_bytes = more.cache_budget_bytes;
}

std::string WorkReport(const GenerationStats& last, const GenerationStats& all) {
  std::string text = fmt::format("{:<34} {:>16} {:>16}\n", "", "last answer", "all answers");
  for (const Line& line : kLines) {
    text += fmt::format("{:<34} {:>16} {:>16}\n", line.name, line.value(last), line.value(all));
  }
  return text + fmt::format("expert cache: {} of {} in use\n", FormatBytes(all.cache_bytes),
                            FormatBytes(all.cache_budget_bytes));
}

}  // namespace coli
