// int4 with one scale per group of columns in each row: value = code * scale[column / group]; the
// bytes of the codes are those of int4-row. The last group of a row may be short; its scale is
// taken over the columns it has.
#include <algorithm>

#include "base/checked_math.h"
#include "tensor/format.h"
#include "tensor/formats/int4_codes.h"

namespace coli {
namespace {

uint64_t RowScales(uint64_t cols, uint32_t group) { return CeilDiv(cols, group); }

void DecodeRow(const std::byte* codes, const float* scales, uint64_t cols, uint32_t group,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Int4Code(codes, c)) * scales[c / group];
  }
}

void EncodeRow(const float* values, uint64_t cols, uint32_t group, std::byte* codes,
               float* scales) {
  for (uint64_t begin = 0; begin < cols; begin += group) {
    const uint64_t count = std::min<uint64_t>(group, cols - begin);
    scales[begin / group] = Int4EncodeGroup(values + begin, count, codes + begin / 2);
  }
}

}  // namespace

extern constinit const FormatInfo kInt4GroupedInfo{
    .id = {},
    .name = {},
    .arithmetic = Arithmetic::kInteger,
    .grouped = true,
    .row_bytes = Int4RowBytes,
    .row_scales = RowScales,
    .decode_row = DecodeRow,
    .encode_row = EncodeRow,
    .unpack_row = Int4UnpackRow,
    .lane_run = 8,
};

}  // namespace coli
