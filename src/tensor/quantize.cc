#include "tensor/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tensor/format.h"

namespace coli {
namespace {

// Refuses what has no finite code.
Status CheckRow(const float* row, uint32_t cols, float overflow, uint32_t number) {
  uint32_t found = 0;
  for (uint32_t c = 0; c < cols; ++c) {
    found |= std::fabs(row[c]) < overflow ? 0U : 1U;  // NaN too
  }
  for (uint32_t c = 0; found != 0 && c < cols; ++c) {
    if (!(std::fabs(row[c]) < overflow)) {
      return Fail(ErrorCode::kNumeric,
                  "row {}, column {}: expected a finite number below {:g}, found {}", number, c,
                  overflow, row[c]);
    }
  }
  return Ok();
}

}  // namespace

Status QuantizeRows(ConstMatrixView values, uint32_t first_row, const QuantizedMatrix& out) {
  const FormatInfo& info = Info(out.format);
  const uint32_t end = first_row + values.rows;
  COLI_CHECK(values.cols == out.cols && end <= out.rows);
  COLI_CHECK(first_row % info.scale_rows == 0);
  COLI_CHECK(end % info.scale_rows == 0 || end == out.rows);
  for (uint32_t begin = 0; begin < values.rows; begin += info.scale_rows) {
    const ConstMatrixView block =
        values.Rows(begin, std::min(info.scale_rows, values.rows - begin));
    for (uint32_t r = 0; r < block.rows; ++r) {
      COLI_RETURN_IF_ERROR(
          CheckRow(block.row(r), block.cols, info.overflow, first_row + begin + r));
    }
    const uint64_t scale_block = (first_row + begin) / info.scale_rows;
    info.encode_block(
        block, out.format.group, out.codes + (first_row + begin) * info.row_bytes(out.cols),
        out.scales == nullptr ? nullptr
                              : out.scales + scale_block * RowScaleBytes(out.format, out.cols));
  }
  return Ok();
}

}  // namespace coli
