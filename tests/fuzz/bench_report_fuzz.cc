// Any text as a report of measurements: what is read is written and read again as it was, and can
// be compared with itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "measure/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto report =
      coli::ParseReport(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!report) {
    return 0;
  }
  const auto again = coli::ParseReport(coli::ReportJson(*report), "fuzz");
  COLI_CHECK(again.has_value() && again->host == report->host && again->results == report->results);
  const coli::ReportComparison comparison = coli::Compare(*report, *again);
  COLI_CHECK(comparison.both.size() == report->results.size());
  COLI_CHECK(comparison.only_a.empty() && comparison.only_b.empty());
  for (const coli::Comparison& same : comparison.both) {
    COLI_CHECK(same.within_spread());
  }
  coli::ComparisonTable(comparison, coli::TableStyle::kText);
  coli::ReportTable(*report, coli::TableStyle::kMarkdown);
  return 0;
}
