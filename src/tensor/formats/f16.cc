// f16: IEEE 754 binary16, little-endian.
#include <cstring>

#include "tensor/format.h"
#include "tensor/half.h"

namespace coli {
namespace {

uint64_t RowBytes(uint64_t cols) { return cols * sizeof(uint16_t); }

uint64_t RowScales(uint64_t /*cols*/, uint32_t /*group*/) { return 0; }

void DecodeRow(const std::byte* codes, const float* /*scales*/, uint64_t cols, uint32_t /*group*/,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    uint16_t bits = 0;
    std::memcpy(&bits, codes + c * sizeof(bits), sizeof(bits));
    out[c] = FloatFromF16(bits);
  }
}

void EncodeRow(const float* values, uint64_t cols, uint32_t /*group*/, std::byte* codes,
               float* /*scales*/) {
  for (uint64_t c = 0; c < cols; ++c) {
    const uint16_t bits = F16FromFloat(values[c]);
    std::memcpy(codes + c * sizeof(bits), &bits, sizeof(bits));
  }
}

}  // namespace

extern constinit const FormatInfo kF16Info{
    .id = {},
    .name = {},
    .arithmetic = Arithmetic::kFloat,
    .grouped = false,
    .row_bytes = RowBytes,
    .row_scales = RowScales,
    .decode_row = DecodeRow,
    .encode_row = EncodeRow,
    .unpack_row = nullptr,
    .lane_run = 0,
};

}  // namespace coli
