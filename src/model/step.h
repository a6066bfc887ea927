// What the parts of the model share while one batch passes through them. Engine thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "model/activations.h"
#include "model/batch.h"
#include "model/selection.h"

namespace coli {

// A range of rows of a batch: all of them where layers and experts are run, a block of them inside
// attention. Row r below is a row of the range; a.x, a.normed, a.mixed, the rope angles and the
// selection begin with row 0 of the range, too.
struct Step {
  Step(Batch& in, const Activations& views, const Selection& selected)
      : batch(in), a(views), selection(selected), count(static_cast<uint32_t>(in.rows.size())) {}

  Batch& batch;
  Activations a;
  Selection selection;
  uint32_t first = 0;  // row of the batch
  uint32_t count;

  uint32_t rows() const { return count; }
  // The part of an activation that belongs to this step.
  MatrixView Of(const MatrixView& view) const { return view.Rows(0, count); }
  const BatchRow& row(size_t r) const { return batch.rows[first + r]; }
  KvCache& cache(size_t r) const { return batch.cache(row(r)); }
  // Rows [begin, begin + rows) of this range.
  Step Block(uint32_t begin, uint32_t rows) const {
    Step block = *this;
    block.a = a.From(begin);
    block.selection = selection.From(begin);
    block.first = first + begin;
    block.count = rows;
    return block;
  }
  // Nobody waits for any of the rows: what they compute does not matter any more.
  bool Abandoned() const {
    return batch.cancelled &&
           std::ranges::all_of(std::span(batch.rows).subspan(first, count),
                               [&](const BatchRow& r) { return batch.cancelled(r.sequence); });
  }
};

}  // namespace coli
