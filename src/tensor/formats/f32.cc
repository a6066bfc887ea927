// Plain f32, as stored in memory.
#include <cstring>

#include "tensor/format.h"

namespace coli {
namespace {

uint64_t RowBytes(uint64_t cols) { return cols * sizeof(float); }

uint64_t RowScales(uint64_t /*cols*/, uint32_t /*group*/) { return 0; }

void DecodeRow(const std::byte* codes, const float* /*scales*/, uint64_t cols, uint32_t /*group*/,
               float* out) {
  if (cols != 0) {
    std::memcpy(out, codes, cols * sizeof(float));
  }
}

void EncodeRow(const float* values, uint64_t cols, uint32_t /*group*/, std::byte* codes,
               float* /*scales*/) {
  if (cols != 0) {
    std::memcpy(codes, values, cols * sizeof(float));
  }
}

}  // namespace

extern constinit const FormatInfo kF32Info{
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
