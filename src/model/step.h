// What the parts of the model share while one batch passes through them. Engine thread only.
#pragma once

#include <cstdint>

#include "model/activations.h"
#include "model/batch.h"
#include "model/selection.h"

namespace coli {

struct Step {
  Batch& batch;
  Activations& a;
  Selection& selection;

  uint32_t rows() const { return static_cast<uint32_t>(batch.rows.size()); }
  // The part of an activation that belongs to this step.
  MatrixView Of(const MatrixView& view) const { return view.Rows(0, rows()); }
  const BatchRow& row(size_t r) const { return batch.rows[r]; }
  KvCache& cache(size_t r) const { return batch.cache(batch.rows[r]); }
};

}  // namespace coli
