#include "tools/cache_sim/requests.h"

#include <algorithm>

namespace coli::cache_sim {
namespace {

// The rows of one layer in one step of the engine.
struct Block {
  LayerId layer;
  std::vector<size_t> rows;
};

std::vector<Block> MakeBlocks(const RoutingTrace& trace) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < trace.rows(); ++i) {
    const RoutedRow row = trace.row(i);
    if (row.begins_step || blocks.empty() || blocks.back().layer != row.layer) {
      blocks.push_back({row.layer, {}});
    }
    blocks.back().rows.push_back(i);
  }
  return blocks;
}

// The blocks of one step after the other become its rows one after the other. A step ends where the
// layers begin anew.
std::vector<Block> SplitIntoRows(const std::vector<Block>& blocks) {
  std::vector<Block> rows;
  size_t begin = 0;
  while (begin < blocks.size()) {
    size_t end = begin + 1;
    size_t most = blocks[begin].rows.size();
    while (end < blocks.size() && blocks[end].layer > blocks[end - 1].layer) {
      most = std::max(most, blocks[end].rows.size());
      ++end;
    }
    for (size_t r = 0; r < most; ++r) {
      for (size_t b = begin; b < end; ++b) {
        if (r < blocks[b].rows.size()) {
          rows.push_back({blocks[b].layer, {blocks[b].rows[r]}});
        }
      }
    }
    begin = end;
  }
  return rows;
}

std::vector<ExpertId> Union(const RoutingTrace& trace, const std::vector<size_t>& rows) {
  std::vector<ExpertId> experts;
  for (const size_t i : rows) {
    for (const RankedExpert& ranked : trace.row(i).ranked) {
      if (ranked.chosen) {
        experts.push_back(ranked.expert);
      }
    }
  }
  std::ranges::sort(experts);
  const auto rest = std::ranges::unique(experts);
  experts.erase(rest.begin(), rest.end());
  return experts;
}

}  // namespace

std::vector<Batch> MakeBatches(const RoutingTrace& trace, Grouping grouping) {
  std::vector<Block> blocks = MakeBlocks(trace);
  if (grouping == Grouping::kRows) {
    blocks = SplitIntoRows(blocks);
  }
  std::vector<Batch> batches;
  batches.reserve(blocks.size());
  for (Block& block : blocks) {
    std::vector<ExpertId> experts = Union(trace, block.rows);
    batches.push_back({block.layer, std::move(block.rows), std::move(experts)});
  }
  return batches;
}

std::vector<std::vector<uint64_t>> ExpertBytes(const RoutingTraceHeader& header) {
  std::vector<std::vector<uint64_t>> bytes;
  for (const RoutingTraceHeader::Layer& layer : header.layers) {
    bytes.emplace_back(layer.experts, layer.expert_bytes);
  }
  return bytes;
}

uint64_t TotalBytes(const RoutingTraceHeader& header) {
  uint64_t total = 0;
  for (const RoutingTraceHeader::Layer& layer : header.layers) {
    total += layer.experts * layer.expert_bytes;
  }
  return total;
}

double Overlap(const RoutingTrace& trace, const std::vector<Batch>& row_batches) {
  std::vector<std::vector<ExpertId>> last(trace.header().layers.size());
  uint64_t chosen = 0;
  uint64_t again = 0;
  for (const Batch& batch : row_batches) {
    std::vector<ExpertId>& before = last[static_cast<size_t>(Raw(batch.layer))];
    if (!before.empty()) {
      chosen += batch.experts.size();
      again += static_cast<uint64_t>(std::ranges::count_if(
          batch.experts, [&](ExpertId id) { return std::ranges::binary_search(before, id); }));
    }
    before = batch.experts;
  }
  return chosen == 0 ? 0.0 : static_cast<double>(again) / static_cast<double>(chosen);
}

}  // namespace coli::cache_sim
