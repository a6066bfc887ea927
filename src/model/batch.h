// One step's work: rows of any sequences, in prefill, decode or verification, side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/kv_cache.h"

namespace coli {

struct BatchRow {
  uint32_t sequence = 0;  // index into Batch::caches
  TokenId token{};
  uint32_t position = 0;  // row of the sequence's cache; all earlier rows are there or precede this
                          // one in the batch
  bool wants_logits = false;
};

// Rows of one sequence appear in ascending order of position. Caches outlive the step.
struct Batch {
  std::vector<BatchRow> rows;
  std::vector<KvCache*> caches;
  // True when nobody waits for this sequence any more; asked between layers. May be empty.
  std::function<bool(uint32_t sequence)> cancelled;

  KvCache& cache(const BatchRow& row) const { return *caches[row.sequence]; }
};

}  // namespace coli
