#include "tensor/tensor_view.h"

#include "tensor/format.h"

namespace coli {

WeightView WeightView::Rows(uint32_t begin, uint32_t count) const {
  const FormatInfo& info = Info(format);
  WeightView view = *this;
  view.codes = codes + begin * info.row_bytes(cols);
  view.scales = scales == nullptr ? nullptr : scales + begin * info.row_scales(cols, format.group);
  view.rows = count;
  return view;
}

}  // namespace coli
