// Any bytes taken for a routing trace give rows that agree with its header, or an error that says
// where.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "store/routing_trace.h"

namespace {

void CheckRow(const coli::RoutingTraceHeader& header, const coli::RoutedRow& row) {
  const auto layer = static_cast<size_t>(Raw(row.layer));
  COLI_CHECK(layer < header.layers.size());
  COLI_CHECK(std::ranges::count_if(row.ranked, &coli::RankedExpert::chosen) ==
             static_cast<ptrdiff_t>(header.experts_per_token));
  float last = row.ranked.front().score;
  for (const coli::RankedExpert& ranked : row.ranked) {
    COLI_CHECK(Raw(ranked.expert) >= 0 &&
               static_cast<uint32_t>(Raw(ranked.expert)) < header.layers[layer].experts);
    COLI_CHECK(ranked.score <= last);
    last = ranked.score;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto trace = coli::RoutingTrace::Parse(std::as_bytes(std::span(data, size)), "fuzz");
  if (!trace) {
    COLI_CHECK(trace.error().message.starts_with("fuzz: byte "));
    return 0;
  }
  for (size_t i = 0; i < trace->rows(); ++i) {
    CheckRow(trace->header(), trace->row(i));
  }
  return 0;
}
