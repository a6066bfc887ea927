// int3 with one scale per 64 columns of a row: value = code * scale, code in [-4, 3], scale =
// absmax / 3. Stored as code + 4 in groups of 24 bytes: first the two low bits of the 64 elements,
// as in int2-row, then the high bits, element 8j + b in bit b of byte j. A group is always whole:
// columns after the last one hold code 0.
#include <algorithm>

#include "base/checked_math.h"
#include "tensor/format.h"
#include "tensor/formats/quantizer.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

constexpr uint32_t kGroup = 64;
constexpr uint32_t kLowBytes = 16;
constexpr uint32_t kGroupBytes = 24;

uint64_t RowBytes(uint64_t cols) { return CeilDiv(cols, kGroup) * kGroupBytes; }

int32_t Code(const std::byte* codes, uint64_t column) {
  const std::byte* group = codes + column / kGroup * kGroupBytes;
  const uint64_t c = column % kGroup;
  const uint32_t low = std::to_integer<uint32_t>(group[c / 4]) >> (2 * (c % 4)) & 3U;
  const uint32_t high = std::to_integer<uint32_t>(group[kLowBytes + c / 8]) >> (c % 8) & 1U;
  return static_cast<int32_t>(low | high << 2) - 4;
}

void DecodeRow(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Code(codes, c)) * LoadScale(scales, c / kGroup);
  }
}

// Quantises and packs up to 64 columns; returns their scale.
float EncodeGroup(const float* values, uint32_t count, std::byte* group) {
  const float scale = AbsmaxScale(values, count, 3.0F);
  std::fill_n(group, kGroupBytes, std::byte{0});
  for (uint32_t c = 0; c < kGroup; ++c) {
    const int32_t code = c < count ? QuantizedCode(values[c], scale, -4.0F, 3.0F) : 0;
    const auto stored = static_cast<uint32_t>(code + 4);
    group[c / 4] |= static_cast<std::byte>((stored & 3U) << (2 * (c % 4)));
    group[kLowBytes + c / 8] |= static_cast<std::byte>((stored >> 2) << (c % 8));
  }
  return scale;
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes, std::byte* scales) {
  for (uint32_t begin = 0; begin < values.cols; begin += kGroup) {
    const uint32_t group = begin / kGroup;
    const uint32_t count = std::min(kGroup, values.cols - begin);
    StoreScale(EncodeGroup(values.data + begin, count, codes + group * kGroupBytes), group, scales);
  }
}

void UnpackRow(const std::byte* codes, uint64_t cols, int16_t* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<int16_t>(Code(codes, c));
  }
}

}  // namespace

extern constinit const FormatInfo kInt3G64Info{
    .arithmetic = Arithmetic::kInteger,
    .scale_kind = ScaleKind::kF32,
    .scale_columns = kGroup,
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
    .unpack_row = UnpackRow,
    .lane_run = 8,
};

}  // namespace coli
