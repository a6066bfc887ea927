// int4 with one scale per group of columns in each row: value = code * scale[column / group]; the
// bytes of the codes are those of int4-row. The last group of a row may be short; its scale is
// taken over the columns it has.
#include <algorithm>

#include "base/checked_math.h"
#include "tensor/format.h"
#include "tensor/formats/int4_codes.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

void DecodeRow(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t group,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Int4Code(codes, c)) * LoadScale(scales, c / group);
  }
}

void EncodeRow(ConstMatrixView values, uint32_t group, std::byte* codes, std::byte* scales) {
  for (uint64_t begin = 0; begin < values.cols; begin += group) {
    const uint64_t count = std::min<uint64_t>(group, values.cols - begin);
    const float scale = Int4EncodeGroup(values.data + begin, count, codes + begin / 2);
    StoreScale(scale, begin / group, scales);
  }
}

}  // namespace

extern constinit const FormatInfo kInt4GroupedInfo{
    .arithmetic = Arithmetic::kInteger,
    .scale_kind = ScaleKind::kF32,
    .grouped = true,
    .row_bytes = Int4RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
    .unpack_row = Int4UnpackRow,
    .lane_run = 8,
};

}  // namespace coli
