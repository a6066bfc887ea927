#include "tensor/tensor_view.h"

#include "tensor/format.h"

namespace coli {

WeightView WeightView::Rows(uint32_t begin, uint32_t count) const {
  WeightView view = *this;
  view.codes = RowCodes(begin);
  view.scales = RowScales(begin);
  view.rows = count;
  view.rows_above = (rows_above + begin) % Info(format).scale_rows;
  return view;
}

const std::byte* WeightView::RowCodes(uint32_t row) const {
  return codes + row * Info(format).row_bytes(cols);
}

const std::byte* WeightView::RowScales(uint32_t row) const {
  const uint64_t block = (uint64_t{rows_above} + row) / Info(format).scale_rows;
  return scales == nullptr ? nullptr : scales + block * RowScaleBytes(format, cols);
}

void DecodeRow(const WeightView& w, uint32_t row, float* out) {
  Info(w.format).decode_row(w.RowCodes(row), w.RowScales(row), w.cols, w.format.group, out);
}

}  // namespace coli
