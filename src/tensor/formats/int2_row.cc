// int2 with one scale per row: value = code * scale, code in [-2, 1], scale = absmax. Stored as
// code + 2, element 4j + k in bits 2k and 2k + 1 of byte j; bits after the last element are 0.
#include <algorithm>

#include "base/checked_math.h"
#include "tensor/format.h"
#include "tensor/formats/quantizer.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

uint64_t RowBytes(uint64_t cols) { return CeilDiv(cols, 4); }

int32_t Code(const std::byte* codes, uint64_t column) {
  const uint32_t byte = std::to_integer<uint32_t>(codes[column / 4]);
  return static_cast<int32_t>((byte >> (2 * (column % 4))) & 3U) - 2;
}

void DecodeRow(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  const float scale = LoadScale(scales, 0);
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Code(codes, c)) * scale;
  }
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes, std::byte* scales) {
  const float scale = AbsmaxScale(values.data, values.cols, 1.0F);
  StoreScale(scale, 0, scales);
  for (uint32_t begin = 0; begin < values.cols; begin += 4) {
    uint32_t byte = 0;
    for (uint32_t c = begin; c < std::min(values.cols, begin + 4); ++c) {
      const int32_t code = QuantizedCode(values.data[c], scale, -2.0F, 1.0F);
      byte |= static_cast<uint32_t>(code + 2) << (2 * (c - begin));
    }
    codes[begin / 4] = static_cast<std::byte>(byte);
  }
}

void UnpackRow(const std::byte* codes, uint64_t cols, int16_t* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<int16_t>(Code(codes, c));
  }
}

}  // namespace

extern constinit const FormatInfo kInt2RowInfo{
    .arithmetic = Arithmetic::kInteger,
    .scale_kind = ScaleKind::kF32,
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
    .unpack_row = UnpackRow,
    .lane_run = 16,
};

}  // namespace coli
