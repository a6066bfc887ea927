// int8 with one scale per row: value = code * scale, code a signed byte, scale = absmax / 127.
#include "tensor/format.h"
#include "tensor/formats/quantizer.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

int32_t Code(std::byte code) { return static_cast<int8_t>(code); }

uint64_t RowBytes(uint64_t cols) { return cols; }

void DecodeRow(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  const float scale = LoadScale(scales, 0);
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Code(codes[c])) * scale;
  }
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes, std::byte* scales) {
  const float scale = AbsmaxScale(values.data, values.cols, 127.0F);
  StoreScale(scale, 0, scales);
  for (uint64_t c = 0; c < values.cols; ++c) {
    codes[c] = static_cast<std::byte>(QuantizedCode(values.data[c], scale, -128.0F, 127.0F));
  }
}

void UnpackRow(const std::byte* codes, uint64_t cols, int16_t* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<int16_t>(Code(codes[c]));
  }
}

}  // namespace

extern constinit const FormatInfo kInt8RowInfo{
    .arithmetic = Arithmetic::kInteger,
    .scale_kind = ScaleKind::kF32,
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
    .unpack_row = UnpackRow,
    .lane_run = 2,
};

}  // namespace coli
