// bf16: the upper 16 bits of an f32, little-endian.
#include <cstring>

#include "tensor/format.h"
#include "tensor/half.h"

namespace coli {
namespace {

uint64_t RowBytes(uint64_t cols) { return cols * sizeof(uint16_t); }

template <uint64_t kColumns>
void Widen(const std::byte* codes, float* out) {
  uint16_t bits[kColumns];
  std::memcpy(bits, codes, sizeof(bits));
  for (uint64_t c = 0; c < kColumns; ++c) {
    out[c] = FloatFromBf16(bits[c]);
  }
}

// Attention widens what it remembers with this. By sixteen, because the compiler uses the wide
// registers of every CPU for loops of a known length.
void DecodeRow(const std::byte* codes, const std::byte* /*scales*/, uint64_t cols,
               uint32_t /*group*/, float* out) {
  uint64_t c = 0;
  for (; c + 16 <= cols; c += 16) {
    Widen<16>(codes + c * sizeof(uint16_t), out + c);
  }
  for (; c < cols; ++c) {
    Widen<1>(codes + c * sizeof(uint16_t), out + c);
  }
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes,
               std::byte* /*scales*/) {
  for (uint64_t c = 0; c < values.cols; ++c) {
    const uint16_t bits = Bf16FromFloat(values.data[c]);
    std::memcpy(codes + c * sizeof(bits), &bits, sizeof(bits));
  }
}

}  // namespace

extern constinit const FormatInfo kBf16Info{
    .arithmetic = Arithmetic::kFloat,
    .overflow = 0x1.ffp127F,  // halfway between the largest bf16 and the next power
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
};

}  // namespace coli
