#include "backend/backend.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked_math.h"

namespace coli {
namespace {

// Weight rows handed to a thread at a time: many, so that a thread reads long runs of memory; at
// most an eighth of its share, so that a thread that is held up by a neighbour delays the others
// little.
size_t RowGrain(size_t rows, size_t threads) {
  constexpr size_t kChunksPerThread = 8;
  return std::clamp<size_t>(rows / (threads * kChunksPerThread), 8, 64);
}

constexpr size_t kFloatsPerLine = 16;

uint64_t InnerFloats(const BackendRoom& room) {
  return uint64_t{2} * room.rows * AlignUp(room.inner_cols, kFloatsPerLine);
}

}  // namespace

// The dearest are the smallest groups: int4 in groups of 16 takes 10.25 bytes per column.
// backend_test.cc holds the bound against every kernel table.
size_t Backend::PreparedBound(uint32_t cols) { return size_t{cols} * 11 + 4096; }

uint64_t Backend::ScratchBytes(const BackendRoom& room) {
  return uint64_t{kMaxFormats} * room.rows * PreparedBound(room.input_cols) +
         InnerFloats(room) * sizeof(float);
}

Status Backend::Reserve(const BackendRoom& room) {
  for (AlignedBuffer& buffer : scratch_) {
    COLI_ASSIGN_OR_RETURN(buffer,
                          AlignedBuffer::Allocate(room.rows * PreparedBound(room.input_cols)));
  }
  COLI_ASSIGN_OR_RETURN(inner_, AlignedBuffer::Allocate(InnerFloats(room) * sizeof(float)));
  parts_.reserve(room.rows);
  rows_.reserve(room.rows);
  room_ = room;
  return Ok();
}

// --- products ---

Backend::Prepared Backend::Place(const WeightView& w, uint32_t rows, size_t slot, size_t& used) {
  COLI_CHECK(slot < kMaxFormats);
  const size_t row_bytes = kernels_.For(w.format).prepared_bytes(w.format, w.cols);
  const Prepared place{w.format, scratch_[slot].data() + used, row_bytes, rows};
  used += row_bytes * rows;
  COLI_CHECK(used <= scratch_[slot].size());
  return place;
}

void Backend::PrepareRow(const float* x, const Prepared& place, uint32_t cols, size_t row) {
  kernels_.For(place.format).prepare(place.format, x, cols, place.bytes + row * place.row_bytes);
}

void Backend::Multiply(const WeightView& w, const Prepared& x, uint32_t begin, uint32_t end,
                       MatrixView y) {
  kernels_.For(w.format).multiply(w, {x.bytes, x.row_bytes, x.rows}, begin, end, y.data, y.stride);
}

template <class Item, class Size, class Body>
void Backend::ForAll(std::span<const Item> items, Split split, const Size& size, const Body& body) {
  size_t total = 0;
  for (const Item& item : items) {
    total += size(item);
  }
  const size_t grain = split == Split::kRows ? 1 : RowGrain(total, pool_.threads());
  pool_.ParallelFor(total, grain, [&](size_t begin, size_t end, size_t) {
    size_t first = 0;  // of this item among all
    for (const Item& item : items) {
      const size_t last = first + size(item);
      if (begin < last && first < end) {
        body(item, static_cast<uint32_t>(std::max(begin, first) - first),
             static_cast<uint32_t>(std::min(end, last) - first));
      }
      first = last;
    }
  });
}

void Backend::MatMul(ConstMatrixView x, std::span<const Product> products) {
  COLI_CHECK(room_.rows > 0);
  for (uint32_t first = 0; first < x.rows; first += room_.rows) {
    MatMulPass(x.Rows(first, std::min(room_.rows, x.rows - first)), products, first);
  }
}

void Backend::MatMulPass(ConstMatrixView x, std::span<const Product> products, uint32_t first_row) {
  std::array<Prepared, kMaxFormats> prepared;
  size_t formats = 0;
  const auto rows_for = [&](Format format) {
    return std::find_if(prepared.begin(), prepared.begin() + formats,
                        [&](const Prepared& p) { return p.format == format; });
  };
  for (const Product& product : products) {
    COLI_CHECK(product.w.cols == x.cols && product.y.rows >= first_row + x.rows &&
               product.y.cols == product.w.rows);
    if (rows_for(product.w.format) == prepared.begin() + formats) {
      size_t used = 0;
      const Prepared place = Place(product.w, x.rows, formats, used);
      ForRows(x.rows, [&](size_t r) { PrepareRow(x.row(r), place, x.cols, r); });
      prepared[formats] = place;
      ++formats;
    }
  }
  const auto width = [](const Product& product) { return product.w.rows; };
  ForAll(products, Split::kWeights, width,
         [&](const Product& product, uint32_t begin, uint32_t end) {
           Multiply(product.w, *rows_for(product.w.format), begin, end,
                    product.y.Rows(first_row, x.rows));
         });
}

void Backend::MatMul(ConstMatrixView x, const WeightView& w, MatrixView y) {
  const Product product{w, y};
  MatMul(x, std::span(&product, 1));
}

// --- feed-forward networks ---

void Backend::Ffn(std::span<const FfnTask> tasks) {
  COLI_CHECK(room_.rows > 0);
  uint32_t rows = 0;  // of the parts so far
  for (const FfnTask& task : tasks) {
    COLI_CHECK(task.y.rows == task.x.size() && task.y.cols == task.w->down.rows);
    for (uint32_t done = 0; done < task.y.rows;) {
      const uint32_t taken = std::min(task.y.rows - done, room_.rows - rows);
      AddPart(task, done, taken);
      done += taken;
      rows += taken;
      if (rows == room_.rows) {
        RunParts();
        rows = 0;
      }
    }
  }
  RunParts();
}

void Backend::Ffn(const FfnView& w, ConstMatrixView x, MatrixView y) {
  for (uint32_t first = 0; first < x.rows; first += room_.rows) {
    const uint32_t rows = std::min(room_.rows, x.rows - first);
    rows_.clear();
    for (uint32_t r = 0; r < rows; ++r) {
      rows_.push_back(x.row(first + r));
    }
    const FfnTask task{&w, rows_, y.Rows(first, rows)};
    Ffn(std::span(&task, 1));
  }
}

void Backend::AddPart(const FfnTask& task, uint32_t first_row, uint32_t rows) {
  FfnPart part{};
  part.w = task.w;
  part.x = task.x.data() + first_row;
  part.y = task.y.Rows(first_row, rows);
  part.stage = task.stage;
  if (task.stage != FfnStage::kWhole) {
    COLI_CHECK(task.inner.rows == task.y.rows && task.inner.cols == task.w->gate.rows);
    part.gate = task.inner.Rows(first_row, rows);
  }
  parts_.push_back(part);
}

void Backend::RunParts() {
  if (parts_.empty()) {
    return;
  }
  PlaceParts();
  PrepareInputs();
  MultiplyGateAndUp();
  PrepareInner();
  MultiplyDown();
  parts_.clear();
}

// Gives every part its share of the working memory.
void Backend::PlaceParts() {
  std::array<size_t, kMaxFormats> used{};
  float* inner = inner_.floats();
  const auto prepared = [&](const WeightView& w, uint32_t rows, size_t slot) {
    return Place(w, rows, slot, used[slot]);
  };
  const auto values = [&](uint32_t rows, uint32_t cols) {
    const MatrixView placed{inner, rows, cols, AlignUp(cols, kFloatsPerLine)};
    inner += rows * placed.stride;
    COLI_CHECK(inner <= inner_.floats() + inner_.size() / sizeof(float));
    return placed;
  };
  for (FfnPart& part : parts_) {
    const FfnView& w = *part.w;
    if (part.stage == FfnStage::kWhole) {
      part.gate = values(part.y.rows, w.gate.rows);
    }
    part.up = values(part.y.rows, w.up.rows);
    part.gate_in = prepared(w.gate, part.y.rows, 0);
    part.up_in = w.up.format == w.gate.format ? part.gate_in : prepared(w.up, part.y.rows, 1);
    part.down_in = prepared(w.down, part.y.rows, 2);
  }
}

void Backend::PrepareInputs() {
  const auto rows = [](const FfnPart& part) { return RowsOf(part, FfnStage::kGateUp); };
  ForAll(std::span<const FfnPart>(parts_), Split::kRows, rows,
         [&](const FfnPart& part, uint32_t row, uint32_t) {
           PrepareRow(part.x[row], part.gate_in, part.w->gate.cols, row);
           if (part.up_in.bytes != part.gate_in.bytes) {
             PrepareRow(part.x[row], part.up_in, part.w->up.cols, row);
           }
         });
}

// The activation at the end of the range that was just multiplied, which is still in the cache.
void Backend::MultiplyGateAndUp() {
  const auto width = [](const FfnPart& part) {
    return RowsOf(part, FfnStage::kGateUp) > 0 ? part.w->gate.rows : 0;
  };
  ForAll(std::span<const FfnPart>(parts_), Split::kWeights, width,
         [&](const FfnPart& part, uint32_t begin, uint32_t end) {
           Multiply(part.w->gate, part.gate_in, begin, end, part.gate);
           Multiply(part.w->up, part.up_in, begin, end, part.up);
           for (uint32_t r = 0; r < part.gate.rows; ++r) {
             float* const gate = part.gate.row(r) + begin;
             vector().silu_mul(gate, part.up.row(r) + begin, gate, end - begin);
           }
         });
}

void Backend::PrepareInner() {
  const auto rows = [](const FfnPart& part) { return RowsOf(part, FfnStage::kDown); };
  ForAll(std::span<const FfnPart>(parts_), Split::kRows, rows,
         [&](const FfnPart& part, uint32_t row, uint32_t) {
           PrepareRow(part.gate.row(row), part.down_in, part.w->down.cols, row);
         });
}

void Backend::MultiplyDown() {
  const auto width = [](const FfnPart& part) {
    return RowsOf(part, FfnStage::kDown) > 0 ? part.w->down.rows : 0;
  };
  ForAll(std::span<const FfnPart>(parts_), Split::kWeights, width,
         [&](const FfnPart& part, uint32_t begin, uint32_t end) {
           Multiply(part.w->down, part.down_in, begin, end, part.y);
         });
}

}  // namespace coli
