// A routing trace as what a cache sees: batches of experts of one layer that are asked for
// together, each after the scores of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/cache_policy.h"
#include "store/routing_trace.h"

namespace coli::cache_sim {

struct Batch {
  LayerId layer;
  std::vector<size_t> rows;       // of the trace, in order
  std::vector<ExpertId> experts;  // that any row chose; ascending
};

enum class Grouping : uint8_t {
  kRows,   // every row by itself, one token through all layers after the other: decoding
  kSteps,  // all rows of a step of the engine together: what the engine asked for
};

std::vector<Batch> MakeBatches(const RoutingTrace& trace, Grouping grouping);

// The experts of all layers, as ExpertCache takes them.
std::vector<std::vector<uint64_t>> ExpertBytes(const RoutingTraceHeader& header);
uint64_t TotalBytes(const RoutingTraceHeader& header);

// Of the experts that a row chose, the share that the row before it in the same layer chose, too.
double Overlap(const RoutingTrace& trace, const std::vector<Batch>& row_batches);

}  // namespace coli::cache_sim
