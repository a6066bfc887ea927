// int4 with one scale per row: value = code * scale, scale = absmax / 7.
#include "tensor/format.h"
#include "tensor/formats/int4_codes.h"

namespace coli {
namespace {

uint64_t RowScales(uint64_t /*cols*/, uint32_t /*group*/) { return 1; }

void DecodeRow(const std::byte* codes, const float* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Int4Code(codes, c)) * scales[0];
  }
}

void EncodeRow(const float* values, uint64_t cols, uint32_t /*group*/, std::byte* codes,
               float* scales) {
  scales[0] = Int4EncodeGroup(values, cols, codes);
}

}  // namespace

extern constinit const FormatInfo kInt4RowInfo{
    .id = {},
    .name = {},
    .arithmetic = Arithmetic::kInteger,
    .grouped = false,
    .row_bytes = Int4RowBytes,
    .row_scales = RowScales,
    .decode_row = DecodeRow,
    .encode_row = EncodeRow,
    .unpack_row = Int4UnpackRow,
    .lane_run = 8,
};

}  // namespace coli
