// FP8 with one f32 scale per block of 128 rows and 128 columns: value = e4m3(code) * scale[row /
// 128] [column / 128], rounded once to f32. Blocks at the right and lower border are short. The
// format of checkpoints whose scales are called `weight_scale_inv`.
#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "tensor/e4m3.h"
#include "tensor/format.h"
#include "tensor/formats/quantizer.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

constexpr uint32_t kBlock = 128;

uint64_t RowBytes(uint64_t cols) { return cols; }

void DecodeRow(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t /*group*/,
               float* out) {
  for (uint64_t c = 0; c < cols; ++c) {
    out[c] = FloatFromE4m3(std::to_integer<uint8_t>(codes[c])) * LoadScale(scales, c / kBlock);
  }
}

void EncodeBlock(ConstMatrixView values, uint32_t /*group*/, std::byte* codes, std::byte* scales) {
  for (uint32_t begin = 0; begin < values.cols; begin += kBlock) {
    const uint32_t count = std::min(kBlock, values.cols - begin);
    float scale = 0;
    for (uint32_t r = 0; r < values.rows; ++r) {
      scale = std::max(scale, AbsmaxScale(values.row(r) + begin, count, kE4m3Largest));
    }
    StoreScale(scale, begin / kBlock, scales);
    for (uint32_t r = 0; r < values.rows; ++r) {
      for (uint32_t c = begin; c < begin + count; ++c) {
        codes[size_t{r} * values.cols + c] = std::byte{E4m3FromFloat(values.row(r)[c] / scale)};
      }
    }
  }
}

}  // namespace

extern constinit const FormatInfo kFp8E4m3B128Info{
    .arithmetic = Arithmetic::kFloat,
    .scale_kind = ScaleKind::kF32,
    .scale_columns = kBlock,
    .scale_rows = kBlock,
    .largest_scale = std::numeric_limits<float>::max() / kE4m3Largest,
    .row_bytes = RowBytes,
    .decode_row = DecodeRow,
    .encode_block = EncodeBlock,
};

}  // namespace coli
