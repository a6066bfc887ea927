// int4 with one scale per row: value = code * scale, scale = absmax / 7.
#include "tensor/format.h"
#include "tensor/formats/int4_codes.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

void DecodeRow(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  const float scale = LoadScale(scales, 0);
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Int4Code(codes, c)) * scale;
  }
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes, std::byte* scales) {
  StoreScale(Int4EncodeGroup(values.data, values.cols, codes), 0, scales);
}

}  // namespace

extern constinit const FormatInfo kInt4RowInfo{
    .arithmetic = Arithmetic::kInteger,
    .scale_kind = ScaleKind::kF32,
    .row_bytes = Int4RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
    .unpack_row = Int4UnpackRow,
    .lane_run = 8,
};

}  // namespace coli
