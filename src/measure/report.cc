#include "measure/report.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "measure/table.h"

namespace coli {
namespace {

// Three significant digits, more before the point if there are.
std::string Figure(double value) {
  if (value >= 1e12) {
    return fmt::format("{:.3g}", value);
  }
  if (value >= 99.95) {
    return fmt::format("{:.0f}", value);
  }
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string Print(const Table& table, TableStyle style) {
  return style == TableStyle::kText ? table.Text() : table.Markdown();
}

std::string HostLine(const HostFacts& host) {
  return fmt::format("{}, {} cores, {:.1f} GiB, {}; colibri {}\n", host.cpu, host.cores,
                     static_cast<double>(host.memory_bytes) * 0x1p-30, host.isa, host.version);
}

// What is measured; two results with the same are compared.
using Subject = std::tuple<std::string, Parameters, std::string>;
Subject SubjectOf(const Measurement& m) { return {m.scenario, m.params, m.unit}; }

std::vector<std::string> HostDifferences(const HostFacts& a, const HostFacts& b) {
  std::vector<std::string> differences;
  const auto compare = [&](std::string_view name, const auto& of_a, const auto& of_b) {
    if (of_a != of_b) {
      differences.push_back(fmt::format("{}: {} and {}", name, of_a, of_b));
    }
  };
  compare("cpu", a.cpu, b.cpu);
  compare("cores", a.cores, b.cores);
  compare("memory_bytes", a.memory_bytes, b.memory_bytes);
  compare("isa", a.isa, b.isa);
  return differences;
}

}  // namespace

std::string LimitingResource(const Measurement& measurement) {
  constexpr double kClose = 0.7;
  if (!measurement.limit || *measurement.share_of_limit < kClose) {
    return {};
  }
  const std::string& what = measurement.limit->what;
  return what == kMemoryRead ? "memory" : what == kProductsAlone ? "computing" : "";
}

namespace {

// "memory read 21.8"; empty without a limit.
std::string LimitText(const Measurement& m) {
  return m.limit ? fmt::format("{} {}", m.limit->what, Figure(m.limit->value)) : std::string();
}

std::string ShareText(const Measurement& m) {
  return m.share_of_limit ? Percent(*m.share_of_limit) : std::string();
}

std::string OneTable(std::span<const Measurement> results) {
  Table table{.header = {"scenario", "parameters", "value", "unit", "limit", "share", "runs",
                         "spread", "limited by"},
              .rows = {},
              .right = {false, false, true, false, true, true, true, true, false}};
  for (const Measurement& m : results) {
    table.rows.push_back({m.scenario, ParametersText(m.params), Figure(m.value), m.unit,
                          LimitText(m), ShareText(m), fmt::format("{}", m.runs), Percent(m.spread),
                          LimitingResource(m)});
  }
  return table.Markdown();
}

// A narrow table: what all rows have in common is in its first line, other parameters are columns.
std::string ScenarioTable(std::span<const Measurement> results) {
  const Measurement& first = results.front();
  Parameters common;
  Table table;
  std::vector<size_t> columns;  // the parameters in which rows differ
  for (size_t p = 0; p < first.params.size(); ++p) {
    if (std::ranges::all_of(results,
                            [&](const auto& m) { return m.params[p] == first.params[p]; })) {
      common.push_back(first.params[p]);
    } else {
      columns.push_back(p);
      table.header.push_back(first.params[p].first);
    }
  }
  table.right.assign(columns.size(), false);
  for (const char* name : {"value", "limit", "share", "spread", "limited by"}) {
    table.header.emplace_back(name);
    table.right.push_back(table.header.back() != "limited by");
  }
  for (const Measurement& m : results) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const size_t p : columns) {
      row.push_back(ValueText(m.params[p].second));
    }
    row.insert(row.end(), {fmt::format("{} {}", Figure(m.value), m.unit), LimitText(m),
                           ShareText(m), Percent(m.spread), LimitingResource(m)});
  }
  return fmt::format("\n{}{}{}\n{}", first.scenario, common.empty() ? "" : ": ",
                     ParametersText(common), table.Text());
}

// Whether a table may have a row for both.
bool SameColumns(const Measurement& a, const Measurement& b) {
  return a.scenario == b.scenario &&
         std::ranges::equal(a.params, b.params, {}, &Parameters::value_type::first,
                            &Parameters::value_type::first);
}

}  // namespace

std::string ReportTable(const BenchReport& report, TableStyle style) {
  std::string text = HostLine(report.host);
  if (style == TableStyle::kMarkdown) {
    return text + "\n" + OneTable(report.results);
  }
  for (std::span<const Measurement> rest = report.results; !rest.empty();) {
    const auto other = std::ranges::find_if_not(
        rest, [&](const Measurement& m) { return SameColumns(rest.front(), m); });
    const auto rows = static_cast<size_t>(other - rest.begin());
    text += ScenarioTable(rest.first(rows));
    rest = rest.subspan(rows);
  }
  return text;
}

bool Comparison::too_few_runs() const { return std::min(a->runs, b->runs) < kRunsWithASpread; }

bool Comparison::within_spread() const {
  return std::abs(ratio() - 1) <= std::max(a->spread, b->spread);
}

ReportComparison Compare(const BenchReport& a, const BenchReport& b) {
  std::map<Subject, std::deque<const Measurement*>> unmatched;
  for (const Measurement& in_b : b.results) {
    unmatched[SubjectOf(in_b)].push_back(&in_b);
  }
  ReportComparison comparison;
  std::set<const Measurement*> matched;
  for (const Measurement& in_a : a.results) {
    const auto same = unmatched.find(SubjectOf(in_a));
    if (same == unmatched.end() || same->second.empty()) {
      comparison.only_a.push_back(&in_a);
    } else {
      comparison.both.push_back({&in_a, same->second.front()});
      matched.insert(same->second.front());
      same->second.pop_front();
    }
  }
  for (const Measurement& in_b : b.results) {
    if (!matched.contains(&in_b)) {
      comparison.only_b.push_back(&in_b);
    }
  }
  comparison.host_differences = HostDifferences(a.host, b.host);
  return comparison;
}

std::string ComparisonTable(const ReportComparison& comparison, TableStyle style) {
  Table table{.header = {"scenario", "parameters", "A", "B", "unit", "B / A", ""},
              .rows = {},
              .right = {false, false, true, true, false, true, false}};
  const auto row = [&](const Measurement& m, std::string a, std::string b, std::string ratio,
                       std::string verdict) {
    table.rows.push_back({m.scenario, ParametersText(m.params), std::move(a), std::move(b), m.unit,
                          std::move(ratio), std::move(verdict)});
  };
  for (const Comparison& c : comparison.both) {
    row(*c.a, Figure(c.a->value), Figure(c.b->value), fmt::format("{:.3f}", c.ratio()),
        c.too_few_runs()    ? "too few runs to tell"
        : c.within_spread() ? "within the spread"
                            : "");
  }
  for (const Measurement* m : comparison.only_a) {
    row(*m, Figure(m->value), "", "", "only in A");
  }
  for (const Measurement* m : comparison.only_b) {
    row(*m, "", Figure(m->value), "", "only in B");
  }
  return Print(table, style);
}

}  // namespace coli
