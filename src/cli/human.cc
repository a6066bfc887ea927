#include "cli/human.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

namespace coli {
namespace {

struct Unit {
  std::string_view name;  // lower case
  double bytes;
};
constexpr std::array<Unit, 14> kUnits = {{
    {"", 1.0},
    {"b", 1.0},
    {"k", 0x1p10},
    {"kib", 0x1p10},
    {"kb", 1e3},
    {"m", 0x1p20},
    {"mib", 0x1p20},
    {"mb", 1e6},
    {"g", 0x1p30},
    {"gib", 0x1p30},
    {"gb", 1e9},
    {"t", 0x1p40},
    {"tib", 0x1p40},
    {"tb", 1e12},
}};

// Three significant digits without an exponent.
std::string ThreeDigits(double value) {
  if (value >= 99.95) {
    return fmt::format("{:.0f}", value);
  }
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  constexpr std::array<std::string_view, 5> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{} {}", ThreeDigits(value), kNames[unit]);
}

std::string FormatDuration(double seconds) {
  if (!(seconds > 0)) {
    return "0 s";
  }
  if (seconds < 9.995) {
    return fmt::format("{:.2f} s", seconds);
  }
  constexpr double kLongest = 1e9;  // beyond that the figure means nothing
  const auto whole = static_cast<uint64_t>(std::llround(std::min(seconds, kLongest)));
  if (whole < 60) {
    return fmt::format("{} s", whole);
  }
  if (whole < 3600) {
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string FactLine(std::string_view name, std::string_view value) {
  return fmt::format("  {:<16} {}\n", name, value);
}

std::string FormatRate(double tokens, double seconds) {
  if (!(seconds > 0) || !(tokens > 0)) {
    return "- tok/s";
  }
  const double rate = tokens / seconds;
  return rate < 0.1 ? fmt::format("{:.3f} tok/s", rate)
                    : fmt::format("{} tok/s", ThreeDigits(rate));
}

Result<uint64_t> ParseBytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  std::string unit(parsed.ptr, end);
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size()
                                                                 : unit.find_first_not_of(' '));
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* known = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](const Unit& candidate) { return candidate.name == unit; });
  if (parsed.ec != std::errc{} || known == kUnits.end() || !(number >= 0)) {
    return Fail(ErrorCode::kInvalidArgument, "expected a size such as 20G or 800M, found \"{}\"",
                text);
  }
  const double bytes = number * known->bytes;
  if (!(bytes < 0x1p63)) {
    return Fail(ErrorCode::kInvalidArgument, "\"{}\" is more than any machine has", text);
  }
  return static_cast<uint64_t>(bytes);
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace coli
