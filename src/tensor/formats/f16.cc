// f16: IEEE 754 binary16, little-endian.
#include <cstring>

#include "tensor/format.h"
#include "tensor/half.h"

namespace coli {
namespace {

uint64_t RowBytes(uint64_t cols) { return cols * sizeof(uint16_t); }

void DecodeRow(const std::byte* codes, const std::byte* /*scales*/, uint64_t cols,
               uint32_t /*group*/, float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    uint16_t bits = 0;
    std::memcpy(&bits, codes + c * sizeof(bits), sizeof(bits));
    out[c] = FloatFromF16(bits);
  }
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes,
               std::byte* /*scales*/) {
  for (uint64_t c = 0; c < values.cols; ++c) {
    const uint16_t bits = F16FromFloat(values.data[c]);
    std::memcpy(codes + c * sizeof(bits), &bits, sizeof(bits));
  }
}

}  // namespace

extern constinit const FormatInfo kF16Info{
    .arithmetic = Arithmetic::kFloat,
    .overflow = 65520.0F,  // halfway between the largest f16 and the next power
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
};

}  // namespace coli
