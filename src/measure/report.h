// Reports of `coli bench` as text, Markdown and JSON, and two of them compared. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/measurement.h"

namespace coli {

// {"host":{...},"results":[{"scenario","params":{...},"value","unit","limit","share_of_limit",
// "runs","spread"}]}, the limit {"what","value","unit"} or null; one line.
std::string ReportJson(const BenchReport& report);

// Reads what ReportJson writes. Errors: kCorrupt, naming `source`, the place, what was expected and
// found. Parameters come in alphabetical order.
Result<BenchReport> ParseReport(std::string_view text, std::string_view source);

enum class TableStyle : uint8_t { kText, kMarkdown };

// A line about the host, and the results: a table for each scenario, as Markdown one for all. The
// last column names the resource that limits the speed, where it is known.
std::string ReportTable(const BenchReport& report, TableStyle style);

// What limits a measurement: "memory" if it comes close to reading memory, "computing" if it comes
// close to the products alone. Empty where neither is known to.
std::string LimitingResource(const Measurement& measurement);

// A measurement that both reports have.
struct Comparison {
  const Measurement* a;
  const Measurement* b;
  double ratio() const { return b->value / a->value; }
  // One of them has too few runs for its spread to mean anything.
  bool too_few_runs() const;
  static constexpr uint64_t kRunsWithASpread = 3;
  // The difference is smaller than the larger spread of the two.
  bool within_spread() const;
};

struct ReportComparison {
  std::vector<Comparison> both;  // same scenario, parameters and unit, in the order of a
  std::vector<const Measurement*> only_a;
  std::vector<const Measurement*> only_b;
  std::vector<std::string> host_differences;  // "cpu: X and Y"
};

// The reports must outlive the result.
ReportComparison Compare(const BenchReport& a, const BenchReport& b);

std::string ComparisonTable(const ReportComparison& comparison, TableStyle style);

}  // namespace coli
