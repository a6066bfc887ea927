#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked_math.h"
#include "kernels/reference/lane_tree.h"
#include "kernels/reference/reference.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr uint32_t kBlock = 256;  // columns unpacked at a time; no segment is longer
constexpr size_t kAlignment = 64;

// A prepared row of integer arithmetic: one scale per segment, padded to kAlignment, then one int16
// per column.
size_t ScaleBlockBytes(Format format, uint32_t cols) {
  return AlignUp(CeilDiv(cols, SegmentColumns(format)) * sizeof(float), kAlignment);
}

size_t IntegerPreparedBytes(Format format, uint32_t cols) {
  return ScaleBlockBytes(format, cols) + AlignUp(cols * sizeof(int16_t), kAlignment);
}

float SegmentScale(const float* x, uint32_t count) {
  float absmax = 0;
  for (uint32_t c = 0; c < count; ++c) {
    if (!std::isfinite(x[c])) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    absmax = std::max(absmax, std::fabs(x[c]));
  }
  return absmax / 32767.0F;
}

void IntegerPrepare(Format format, const float* x, uint32_t cols, std::byte* out) {
  const uint32_t segment = SegmentColumns(format);
  auto* scales = reinterpret_cast<float*>(out);
  auto* codes = reinterpret_cast<int16_t*>(out + ScaleBlockBytes(format, cols));
  for (uint32_t begin = 0; begin < cols; begin += segment) {
    const uint32_t count = std::min(segment, cols - begin);
    const float scale = SegmentScale(x + begin, count);
    scales[begin / segment] = scale;
    for (uint32_t c = begin; c < begin + count; ++c) {
      const float code =
          scale > 0 ? std::clamp(std::nearbyint(x[c] / scale), -32767.0F, 32767.0F) : 0.0F;
      codes[c] = static_cast<int16_t>(code);
    }
  }
}

float IntegerDot(const WeightView& w, uint32_t row, const std::byte* prepared) {
  const FormatInfo& info = Info(w.format);
  const std::byte* codes = w.RowCodes(row);
  const std::byte* scales = w.RowScales(row);
  const bool per_segment = ScaleColumns(w.format) != 0;
  const auto* x_scales = reinterpret_cast<const float*>(prepared);
  const auto* x = reinterpret_cast<const int16_t*>(prepared + ScaleBlockBytes(w.format, w.cols));
  const uint32_t segment = SegmentColumns(w.format);

  float lane[8] = {};
  for (uint32_t begin = 0; begin < w.cols; begin += segment) {
    const uint32_t count = std::min(segment, w.cols - begin);
    int16_t weights[kBlock];
    info.unpack_row(codes + info.row_bytes(begin), count, weights);
    int32_t sum[8] = {};
    for (uint32_t c = 0; c < count; ++c) {
      sum[(c / info.lane_run) % 8] += weights[c] * x[begin + c];
    }
    const float x_scale = x_scales[begin / segment];
    const float scale = per_segment ? Scale(w.format, scales, begin / segment) * x_scale : x_scale;
    for (int l = 0; l < 8; ++l) {
      lane[l] = std::fma(static_cast<float>(sum[l]), scale, lane[l]);
    }
  }
  return per_segment ? AddLanes8(lane) : AddLanes8(lane) * Scale(w.format, scales, 0);
}

size_t FloatPreparedBytes(Format /*format*/, uint32_t cols) {
  return AlignUp(cols * sizeof(float), kAlignment);
}

void FloatPrepare(Format /*format*/, const float* x, uint32_t cols, std::byte* out) {
  if (cols != 0) {
    std::memcpy(out, x, cols * sizeof(float));
  }
}

// Columns [begin, begin + count) of a row as f32; `begin` is a multiple of kBlock.
void DecodeColumns(const WeightView& w, uint32_t row, uint32_t begin, uint32_t count, float* out) {
  const FormatInfo& info = Info(w.format);
  const std::byte* scales = w.RowScales(row);
  info.decode_row(w.RowCodes(row) + info.row_bytes(begin),
                  scales == nullptr ? nullptr : scales + RowScaleBytes(w.format, begin), count,
                  w.format.group, out);
}

float FloatDot(const WeightView& w, uint32_t row, const std::byte* prepared) {
  const auto* x = reinterpret_cast<const float*>(prepared);

  float lane[16] = {};
  for (uint32_t begin = 0; begin < w.cols; begin += kBlock) {
    const uint32_t count = std::min(kBlock, w.cols - begin);
    float weights[kBlock];
    DecodeColumns(w, row, begin, count, weights);
    for (uint32_t c = 0; c < count; ++c) {
      lane[c % 16] = std::fma(x[begin + c], weights[c], lane[c % 16]);
    }
  }
  return AddLanes16(lane);
}

template <float (*kDot)(const WeightView&, uint32_t, const std::byte*)>
void Multiply(const WeightView& w, const PreparedRows& x, uint32_t row_begin, uint32_t row_end,
              float* y, size_t y_stride) {
  for (uint32_t r = row_begin; r < row_end; ++r) {
    for (uint32_t t = 0; t < x.tokens; ++t) {
      y[t * y_stride + r] = kDot(w, r, x.bytes + t * x.row_bytes);
    }
  }
}

void IntegerMultiplyTransposed(const WeightView& w, const float* x, float* y) {
  const FormatInfo& info = Info(w.format);
  const uint32_t segment = SegmentColumns(w.format);
  const bool per_segment = ScaleColumns(w.format) != 0;
  std::fill_n(y, w.cols, 0.0F);
  for (uint32_t r = 0; r < w.rows; ++r) {
    const std::byte* codes = w.RowCodes(r);
    const std::byte* scales = w.RowScales(r);
    for (uint32_t begin = 0; begin < w.cols; begin += segment) {
      const uint32_t count = std::min(segment, w.cols - begin);
      int16_t weights[kBlock];
      info.unpack_row(codes + info.row_bytes(begin), count, weights);
      const float factor = x[r] * Scale(w.format, scales, per_segment ? begin / segment : 0);
      for (uint32_t c = 0; c < count; ++c) {
        y[begin + c] = std::fma(factor, static_cast<float>(weights[c]), y[begin + c]);
      }
    }
  }
}

void FloatMultiplyTransposed(const WeightView& w, const float* x, float* y) {
  std::fill_n(y, w.cols, 0.0F);
  for (uint32_t r = 0; r < w.rows; ++r) {
    for (uint32_t begin = 0; begin < w.cols; begin += kBlock) {
      const uint32_t count = std::min(kBlock, w.cols - begin);
      float weights[kBlock];
      DecodeColumns(w, r, begin, count, weights);
      for (uint32_t c = 0; c < count; ++c) {
        y[begin + c] = std::fma(x[r], weights[c], y[begin + c]);
      }
    }
  }
}

constexpr MatrixKernels kIntegerMatrix{IntegerPreparedBytes, IntegerPrepare, Multiply<IntegerDot>,
                                       IntegerMultiplyTransposed};
constexpr MatrixKernels kFloatMatrix{FloatPreparedBytes, FloatPrepare, Multiply<FloatDot>,
                                     FloatMultiplyTransposed};

}  // namespace

const MatrixKernels& ReferenceIntegerMatrix() { return kIntegerMatrix; }

const MatrixKernels& ReferenceFloatMatrix() { return kFloatMatrix; }

}  // namespace coli
