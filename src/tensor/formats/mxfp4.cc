// MXFP4: e2m1 floats with one power of two per 32 columns of a row, stored as the byte e of 2^(e -
// 127). Byte j of a row holds element 2j in its low nibble and 2j + 1 in its high nibble: a sign
// bit above an index into 0, 0.5, 1, 1.5, 2, 3, 4, 6. Source: OCP Microscaling Formats, version
// 1.0.
//
// All e2m1 values are multiples of 1/2, so the integer code of a weight is twice its e2m1 value and
// its scale 2^(e - 128): products are exact integer sums like those of the int formats.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked_math.h"
#include "tensor/format.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

constexpr uint32_t kGroup = 32;
constexpr int16_t kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

uint64_t RowBytes(uint64_t cols) { return CeilDiv(cols, 2); }

int16_t Code(const std::byte* codes, uint64_t column) {
  const uint32_t byte = std::to_integer<uint32_t>(codes[column / 2]);
  return kDoubled[(byte >> (4 * (column % 2))) & 15U];
}

void DecodeRow(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<float>(Code(codes, c)) * HalfPowerOfTwo(scales[c / kGroup]);
  }
}

// The scale takes the largest magnitude into [4, 8), where 6 is the largest value; limited to the
// exponents that a byte has.
uint8_t ScaleByte(const float* values, uint32_t count) {
  float absmax = 0;
  for (uint32_t c = 0; c < count; ++c) {
    absmax = std::max(absmax, std::fabs(values[c]));
  }
  const int exponent = absmax == 0.0F ? -127 : std::ilogb(absmax) - 2;
  return static_cast<uint8_t>(std::clamp(exponent + 127, 0, 254));
}

// The nearest of the values, the even index of two equally near ones; 6 for all that is larger.
// Zero has no sign.
uint32_t Nibble(float value, float half_unit) {
  const float doubled = std::fabs(value) / half_unit;
  uint32_t index = 0;
  while (index < 7) {
    const float middle = static_cast<float>(kDoubled[index] + kDoubled[index + 1]) / 2;
    if (doubled < middle || (doubled == middle && index % 2 == 0)) {
      break;
    }
    ++index;
  }
  return index != 0 && std::signbit(value) ? index | 8U : index;
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes, std::byte* scales) {
  for (uint32_t begin = 0; begin < values.cols; begin += kGroup) {
    const uint32_t end = std::min(values.cols, begin + kGroup);
    const std::byte scale{ScaleByte(values.data + begin, end - begin)};
    scales[begin / kGroup] = scale;
    const float half_unit = HalfPowerOfTwo(scale);
    for (uint32_t c = begin; c < end; c += 2) {
      const uint32_t high = c + 1 < end ? Nibble(values.data[c + 1], half_unit) : 0;
      codes[c / 2] = static_cast<std::byte>(Nibble(values.data[c], half_unit) | high << 4);
    }
  }
}

void UnpackRow(const std::byte* codes, uint64_t cols, int16_t* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = Code(codes, c);
  }
}

}  // namespace

extern constinit const FormatInfo kMxfp4Info{
    .arithmetic = Arithmetic::kInteger,
    .scale_kind = ScaleKind::kHalfPowerOfTwo,
    .scale_columns = kGroup,
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
    .unpack_row = UnpackRow,
    .lane_run = 4,
};

}  // namespace coli
