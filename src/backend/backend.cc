#include "backend/backend.h"

#include <algorithm>

#include "base/check.h"

namespace coli {
namespace {

// Weight rows handed to a thread at a time: enough for a cache-sized tile, few enough to balance.
constexpr size_t kRowGrain = 32;

// Upper bound of what any format's kernels take for a prepared row. The dearest are the smallest
// groups: int4 in groups of 16 takes 10.25 bytes per column. backend_test.cc holds it against every
// kernel table.
size_t PreparedBound(uint32_t cols) { return size_t{cols} * 11 + 4096; }

}  // namespace

uint64_t Backend::ScratchBytes(uint32_t rows, uint32_t cols) {
  return uint64_t{kMaxFormats} * rows * PreparedBound(cols);
}

Status Backend::Reserve(uint32_t rows, uint32_t cols) {
  const size_t bytes = rows * PreparedBound(cols);
  for (AlignedBuffer& buffer : scratch_) {
    if (buffer.size() < bytes) {
      COLI_ASSIGN_OR_RETURN(buffer, AlignedBuffer::Allocate(bytes));
    }
  }
  return Ok();
}

Backend::Prepared Backend::Prepare(ConstMatrixView x, Format format, size_t slot) {
  COLI_CHECK(slot < kMaxFormats);
  const MatrixKernels& kernels = kernels_.For(format);
  const size_t row_bytes = kernels.prepared_bytes(format, x.cols);
  std::byte* const bytes = scratch_[slot].data();
  COLI_CHECK(row_bytes * x.rows <= scratch_[slot].size());
  ForRows(x.rows,
          [&](size_t r) { kernels.prepare(format, x.row(r), x.cols, bytes + r * row_bytes); });
  return {format, {bytes, row_bytes, x.rows}};
}

void Backend::MatMul(ConstMatrixView x, std::span<const Product> products) {
  std::array<Prepared, kMaxFormats> prepared;
  size_t formats = 0;
  size_t total_rows = 0;
  for (const Product& product : products) {
    COLI_CHECK(product.w.cols == x.cols && product.y.rows == x.rows &&
               product.y.cols == product.w.rows);
    total_rows += product.w.rows;
    const auto known = std::span(prepared).first(formats);
    if (std::ranges::none_of(known,
                             [&](const Prepared& p) { return p.format == product.w.format; })) {
      prepared[formats] = Prepare(x, product.w.format, formats);
      ++formats;
    }
  }
  const auto rows_for = [&](Format format) {
    return std::ranges::find(prepared, format, &Prepared::format)->rows;
  };
  pool_.ParallelFor(total_rows, kRowGrain, [&](size_t begin, size_t end, size_t) {
    size_t first = 0;  // of this product among the rows of all
    for (const Product& product : products) {
      const size_t from = std::max(begin, first);
      const size_t to = std::min(end, first + product.w.rows);
      if (from < to) {
        kernels_.For(product.w.format)
            .multiply(product.w, rows_for(product.w.format), static_cast<uint32_t>(from - first),
                      static_cast<uint32_t>(to - first), product.y.data, product.y.stride);
      }
      first += product.w.rows;
    }
  });
}

void Backend::MatMul(ConstMatrixView x, const WeightView& w, MatrixView y) {
  const Product product{w, y};
  MatMul(x, std::span(&product, 1));
}

void Backend::Ffn(const FfnView& w, ConstMatrixView x, MatrixView inner, MatrixView y) {
  const MatrixView gate = inner.Rows(0, x.rows).Cols(0, w.gate.rows);
  const MatrixView up = inner.Rows(x.rows, x.rows).Cols(0, w.gate.rows);
  const std::array<Product, 2> products{Product{w.gate, gate}, Product{w.up, up}};
  MatMul(x, products);
  ForRows(x.rows,
          [&](size_t r) { vector().silu_mul(gate.row(r), up.row(r), gate.row(r), gate.cols); });
  MatMul(gate, w.down, y);
}

}  // namespace coli
