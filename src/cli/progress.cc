#include "cli/progress.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/human.h"

namespace coli {
namespace {

// The first hundredth says nothing about the rest: it is slowed by what is prepared before it.
constexpr uint64_t kPredictFrom = 100;
constexpr double kSilent_s = 2.0;
constexpr double kRewrite_s = 0.25;
constexpr double kPlainLine_s = 30.0;

std::string Amount(uint64_t amount, ProgressUnit unit) {
  return unit == ProgressUnit::kBytes ? FormatBytes(amount) : fmt::format("{}", amount);
}

std::string_view Noun(ProgressUnit unit) {
  switch (unit) {
    case ProgressUnit::kBytes:
      return "";
    case ProgressUnit::kTokens:
      return " tokens";
    case ProgressUnit::kPrompts:
      return " prompts";
    case ProgressUnit::kMeasurements:
      return " measurements";
  }
  return "";
}

std::vector<std::string> LinesFromLongToShort(std::string_view label, uint64_t done, uint64_t total,
                                              double left_s, ProgressUnit unit) {
  if (total == 0) {
    return {fmt::format("{}: {}{} so far", label, Amount(done, unit), Noun(unit)),
            Amount(done, unit)};
  }
  const double share = std::min(static_cast<double>(done) / static_cast<double>(total), 1.0);
  const std::string percent = fmt::format("{:.0f} %", share * 100.0);
  const std::string left = left_s < 0 ? "" : fmt::format(", {} left", FormatDuration(left_s));
  const std::string amount =
      fmt::format(", {} of {}{}", Amount(done, unit), Amount(total, unit), Noun(unit));
  return {fmt::format("{}: {}{}{}", label, percent, amount, left),
          fmt::format("{}: {}{}", label, percent, left), fmt::format("{}: {}", label, percent),
          percent};
}

}  // namespace

std::string ProgressLine(std::string_view label, uint64_t done, uint64_t total, double left_s,
                         ProgressUnit unit, uint32_t columns, std::string_view beside) {
  std::vector<std::string> lines = LinesFromLongToShort(label, done, total, left_s, unit);
  if (!beside.empty()) {
    lines.insert(lines.begin(), fmt::format("{}; {}", lines.front(), beside));
  }
  for (const std::string& line : lines) {
    if (line.size() <= columns) {
      return line;
    }
  }
  return {};
}

Progress::Clock Progress::SteadyClock() {
  return [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch());
  };
}

Progress::Progress(Output* output, std::string label, ProgressUnit unit, Clock clock)
    : output_(output),
      label_(std::move(label)),
      unit_(unit),
      clock_(std::move(clock)),
      start_s_(clock_().count()) {}

bool Progress::Due(double now) const {
  if (now - start_s_ < kSilent_s) {
    return false;
  }
  return shown_s_ < 0 ||
         now - shown_s_ >= (output_->facts().rewrites_lines ? kRewrite_s : kPlainLine_s);
}

double SecondsLeft(uint64_t done, uint64_t total, double passed_s) {
  if (done < total / kPredictFrom || done == 0 || total == 0) {
    return -1;
  }
  return static_cast<double>(total - std::min(done, total)) * passed_s / static_cast<double>(done);
}

void Progress::Update(uint64_t done, uint64_t total, std::string_view beside) {
  done_ = std::max(done_, total == 0 ? done : std::min(done, total));
  const double now = output_ == nullptr ? 0 : clock_().count();
  if (output_ == nullptr || !Due(now)) {
    return;
  }
  shown_s_ = now;
  const double left_s = SecondsLeft(done_, total, now - start_s_);
  const bool rewrites = output_->facts().rewrites_lines;
  // One column stays free: a full line would wrap on some terminals.
  const uint32_t columns = rewrites ? output_->facts().columns - 1 : 200;
  std::string line = ProgressLine(label_, done_, total, left_s, unit_, columns, beside);
  if (!rewrites) {
    output_->Write("coli: " + line + "\n");
    return;
  }
  const size_t width = line.size();
  line.append(line_width_ - std::min(line_width_, width), ' ');
  line_width_ = width;
  output_->Write("\r" + line);
}

void Progress::Clear() {
  if (line_width_ > 0) {
    output_->Write("\r" + std::string(line_width_, ' ') + "\r");
    line_width_ = 0;
  }
}

}  // namespace coli
