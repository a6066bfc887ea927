#include "tensor/formats/int4_codes.h"

#include "tensor/formats/quantizer.h"

namespace coli {

void Int4UnpackRow(const std::byte* codes, uint64_t cols, int16_t* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = static_cast<int16_t>(Int4Code(codes, c));
  }
}

float Int4EncodeGroup(const float* values, uint64_t count, std::byte* codes) {
  const float scale = AbsmaxScale(values, count, 7.0F);
  for (uint64_t c = 0; c < count; c += 2) {
    const int32_t low = QuantizedCode(values[c], scale, -8.0F, 7.0F) + 8;
    const int32_t high = c + 1 < count ? QuantizedCode(values[c + 1], scale, -8.0F, 7.0F) + 8 : 0;
    codes[c / 2] = static_cast<std::byte>(low | (high << 4));
  }
  return scale;
}

}  // namespace coli
