// Products with int8 weights. Part of avx2.cc.
//
// Sixteen bytes are widened to 16 bits and multiplied with sixteen activations in natural order;
// the multiply-add of neighbours sums columns 2l and 2l+1 of every sixteen into 32-bit lane l, the
// contract's virtual lane. A prepared row is one scale per segment, padded to a line, then the
// codes, the last segment filled up with zeros.
#pragma once

#include "kernels/x86/avx2_activations.h"
#include "kernels/x86/avx2_tiles.h"

namespace coli {
namespace {

constexpr size_t kInt8RecordBytes = kMaxSegment * sizeof(int16_t);

inline size_t Int8ScaleBytes(uint32_t cols) {
  return RoundUpToLine(CeilDivide(cols, kMaxSegment) * sizeof(float));
}

size_t Int8PreparedBytes(Format /*format*/, uint32_t cols) {
  return Int8ScaleBytes(cols) + CeilDivide(cols, kMaxSegment) * kInt8RecordBytes;
}

void Int8Prepare(Format /*format*/, const float* x, uint32_t cols, std::byte* out) {
  const size_t scale_bytes = Int8ScaleBytes(cols);
  memset(out, 0, scale_bytes);
  for (uint32_t s = 0; s * kMaxSegment < cols; ++s) {
    const uint32_t begin = s * kMaxSegment;
    SegmentCodes segment;
    QuantizeSegment(x + begin, cols - begin < kMaxSegment ? cols - begin : kMaxSegment, segment);
    memcpy(out + s * sizeof(float), &segment.scale, sizeof(float));
    memcpy(out + scale_bytes + s * kInt8RecordBytes, segment.codes, kInt8RecordBytes);
  }
}

struct Int8Codec {
  static constexpr uint32_t kTileTokens = 4;
  static constexpr uintptr_t kPrefetchBytes = 2048;

  const std::byte* codes;
  const float* scales;
  uint32_t cols;
  size_t scale_bytes;

  explicit Int8Codec(const WeightView& w)
      : codes(w.codes), scales(FloatScales(w)), cols(w.cols), scale_bytes(Int8ScaleBytes(w.cols)) {}

  template <uint32_t kTokens>
  inline __attribute__((always_inline)) void Segment(const std::byte* weights, uint32_t s,
                                                     const std::byte* x, size_t x_stride,
                                                     __m256* lanes) const {
    const std::byte* record = x + scale_bytes + s * kInt8RecordBytes;
    __m256i sum[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      sum[t] = _mm256_setzero_si256();
    }
#pragma GCC unroll 16
    for (uint32_t c = 0; c < kMaxSegment; c += 16) {
      const __m256i v =
          _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + c)));
#pragma GCC unroll 4
      for (uint32_t t = 0; t < kTokens; ++t) {
        const __m256i a = Load(record + t * x_stride + c * sizeof(int16_t));
        sum[t] = _mm256_add_epi32(sum[t], _mm256_madd_epi16(v, a));
        Pin(sum[t]);
      }
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      float scale = 0;
      memcpy(&scale, x + t * x_stride + s * sizeof(float), sizeof(scale));
      lanes[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t]), _mm256_set1_ps(scale), lanes[t]);
    }
  }

  template <uint32_t kTokens>
  void Row(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride) const {
    const std::byte* weights = codes + size_t{row} * cols;
    __m256 lanes[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      lanes[t] = _mm256_setzero_ps();
    }
    const uint32_t whole = cols / kMaxSegment;
    for (uint32_t s = 0; s < whole; ++s) {
      const std::byte* here = weights + s * kMaxSegment;
      for (uint32_t line = 0; line < kMaxSegment; line += kCacheLine) {
        PrefetchAhead(here + line, kPrefetchBytes);
      }
      Segment<kTokens>(here, s, x, x_stride, lanes);
    }
    if (cols % kMaxSegment != 0) {
      alignas(32) std::byte tail[kMaxSegment] = {};
      memcpy(tail, weights + whole * kMaxSegment, cols % kMaxSegment);
      Segment<kTokens>(tail, whole, x, x_stride, lanes);
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      y[t * y_stride] = AddLanes(lanes[t]) * scales[row];
    }
  }
};

}  // namespace
}  // namespace coli
