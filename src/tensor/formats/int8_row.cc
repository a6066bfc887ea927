// int8 with one scale per row: value = code * scale, code a signed byte, scale = absmax / 127.
#include "tensor/format.h"
#include "tensor/formats/quantizer.h"

namespace coli {
namespace {

int32_t Code(std::byte code) { return static_cast<int8_t>(code); }

uint64_t RowBytes(uint64_t cols) { return cols; }

uint64_t RowScales(uint64_t /*cols*/, uint32_t /*group*/) { return 1; }

void DecodeRow(const std::byte* codes, const float* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Code(codes[c])) * scales[0];
  }
}

void EncodeRow(const float* values, uint64_t cols, uint32_t /*group*/, std::byte* codes,
               float* scales) {
  scales[0] = AbsmaxScale(values, cols, 127.0F);
  for (uint64_t c = 0; c < cols; ++c) {
    codes[c] = static_cast<std::byte>(QuantizedCode(values[c], scales[0], -128.0F, 127.0F));
  }
}

void UnpackRow(const std::byte* codes, uint64_t cols, int16_t* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<int16_t>(Code(codes[c]));
  }
}

}  // namespace

extern constinit const FormatInfo kInt8RowInfo{
    .id = {},
    .name = {},
    .arithmetic = Arithmetic::kInteger,
    .grouped = false,
    .row_bytes = RowBytes,
    .row_scales = RowScales,
    .decode_row = DecodeRow,
    .encode_row = EncodeRow,
    .unpack_row = UnpackRow,
    .lane_run = 2,
};

}  // namespace coli
