// Plain f32, as stored in memory.
#include <cstring>

#include "tensor/format.h"

namespace coli {
namespace {

uint64_t RowBytes(uint64_t cols) { return cols * sizeof(float); }

void DecodeRow(const std::byte* codes, const std::byte* /*scales*/, uint64_t cols,
               uint32_t /*group*/, float* out) {
  if (cols != 0) {
    std::memcpy(out, codes, cols * sizeof(float));
  }
}

void EncodeRow(ConstMatrixView values, uint32_t /*group*/, std::byte* codes,
               std::byte* /*scales*/) {
  if (values.cols != 0) {
    std::memcpy(codes, values.data, values.cols * sizeof(float));
  }
}

}  // namespace

extern constinit const FormatInfo kF32Info{
    .arithmetic = Arithmetic::kFloat,
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeRow,
};

}  // namespace coli
