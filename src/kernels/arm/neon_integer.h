// Products with integer weights of 8, 4 and 2 bits. Part of neon.cc.
//
// A register's products are summed in two registers of four 32-bit lanes; adding neighbours at the
// end of a segment gives the contract's virtual lanes. kernels/planes_layout.h describes the
// planes.
#pragma once

#include "kernels/arm/neon_common.h"
#include "kernels/planes_layout.h"

namespace coli {
namespace {

struct Plane {
  int16x8_t low;   // lanes 0..7
  int16x8_t high;  // lanes 8..15
};

inline Plane LoadPlane(const std::byte* p) {
  const auto* lanes = reinterpret_cast<const int16_t*>(p);
  return {vld1q_s16(lanes), vld1q_s16(lanes + 8)};
}

// kBits neighbouring bits of each 16-bit lane of 32 bytes.
template <int kBits, int kPlane>
inline Plane BitsOf(const std::byte* chunk) {
  const auto* lanes = reinterpret_cast<const uint16_t*>(chunk);
  const auto bits = [](uint16x8_t v) {
    if constexpr (kPlane != 0) {
      v = vshrq_n_u16(v, kBits * kPlane);
    }
    return vreinterpretq_s16_u16(vandq_u16(v, vdupq_n_u16((1 << kBits) - 1)));
  };
  return {bits(vld1q_u16(lanes)), bits(vld1q_u16(lanes + 8))};
}

struct Int8Packing {
  static constexpr uint32_t kPlanes = 1;
  static constexpr uint32_t kChunkBytes = 16;
  static constexpr uint32_t kSegment = kMaxSegment;
  static constexpr int32_t kOffset = 0;
  static size_t RowBytes(uint32_t cols) { return cols; }
  template <int kPlane>
  static Plane Get(const std::byte* chunk) {
    const int8x16_t v = vld1q_s8(reinterpret_cast<const int8_t*>(chunk));
    return {vmovl_s8(vget_low_s8(v)), vmovl_high_s8(v)};
  }
};

// Code + 8; element 2j in the low nibble of byte j.
struct Int4Packing {
  static constexpr uint32_t kPlanes = 4;
  static constexpr uint32_t kChunkBytes = 32;
  static constexpr uint32_t kSegment = kMaxSegment;
  static constexpr int32_t kOffset = 8;
  static size_t RowBytes(uint32_t cols) { return cols / 2 + cols % 2; }
  template <int kPlane>
  static Plane Get(const std::byte* chunk) {
    return BitsOf<4, kPlane>(chunk);
  }
};

// Code + 2; element 4j + k in bits 2k and 2k + 1 of byte j.
struct Int2Packing {
  static constexpr uint32_t kPlanes = 8;
  static constexpr uint32_t kChunkBytes = 32;
  static constexpr uint32_t kSegment = kMaxSegment;
  static constexpr int32_t kOffset = 2;
  static size_t RowBytes(uint32_t cols) { return CeilDivide(cols, 4); }
  template <int kPlane>
  static Plane Get(const std::byte* chunk) {
    return BitsOf<2, kPlane>(chunk);
  }
};

// max |x| as bits: NaN and infinity compare above all finite values.
inline uint32_t AbsmaxBits(const float* x, uint32_t count) {
  uint32x4_t highest = vdupq_n_u32(0);
  uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + i));
    highest = vmaxq_u32(highest, vandq_u32(bits, vdupq_n_u32(0x7fffffffU)));
  }
  uint32_t result = vmaxvq_u32(highest);
  for (; i < count; ++i) {
    uint32_t bits = 0;
    memcpy(&bits, x + i, sizeof(bits));
    bits &= 0x7fffffffU;
    result = bits > result ? bits : result;
  }
  return result;
}

// round-half-even(x / scale), limited to the range of the codes.
inline int16x4_t QuantizeFour(const float* x, float32x4_t scale) {
  const float32x4_t quotient = vdivq_f32(vld1q_f32(x), scale);
  const float32x4_t limited =
      vmaxq_f32(vminq_f32(quotient, vdupq_n_f32(32767.0F)), vdupq_n_f32(-32767.0F));
  return vmovn_s32(vcvtnq_s32_f32(limited));
}

inline void QuantizeSegment(const float* x, uint32_t count, SegmentCodes& segment) {
  QuantizeColumns<4>(x, count, AbsmaxBits(x, count), segment,
                     [](const float* columns, float scale, int16_t* codes) {
                       vst1_s16(codes, QuantizeFour(columns, vdupq_n_f32(scale)));
                     });
}

// Writes the starting sums and the planes of a segment.
template <class Packing>
void WriteSegment(const SegmentCodes& segment, uint32_t chunks, std::byte* out) {
  using Layout = PlanesLayout<Packing>;
  int32_t sums[8] = {};
  auto* planes = reinterpret_cast<int16_t*>(out + kSumsBytes);
  for (uint32_t c = 0; c < chunks; ++c) {
    for (uint32_t i = 0; i < Layout::kChunkColumns; ++i) {
      const uint32_t column = c * Layout::kChunkColumns + i;
      const int16_t code = column < kMaxSegment ? segment.codes[column] : int16_t{0};
      const uint32_t lane = i / Packing::kPlanes;
      const uint32_t plane = c * Packing::kPlanes + i % Packing::kPlanes;
      planes[plane * kPlaneLanes + lane] = code;
      sums[lane / 2] -= Packing::kOffset * code;
    }
  }
  memcpy(out, sums, sizeof(sums));
}

template <class Packing>
void IntegerPrepare(Format format, const float* x, uint32_t cols, std::byte* out) {
  const PlanesLayout<Packing> layout(format, cols);
  memset(out, 0, layout.scale_bytes);
  for (uint32_t s = 0; s < layout.segments; ++s) {
    const uint32_t begin = s * layout.segment;
    SegmentCodes segment;
    QuantizeSegment(x + begin, cols - begin < layout.segment ? cols - begin : layout.segment,
                    segment);
    memcpy(out + s * sizeof(float), &segment.scale, sizeof(float));
    WriteSegment<Packing>(segment, layout.chunks,
                          out + layout.scale_bytes + s * layout.record_bytes);
  }
}

// The running sums of one token in one segment: 16-bit lanes 0..3, 4..7, 8..11 and 12..15.
struct Sums {
  int32x4_t quarter[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};

  void Add(Plane weights, Plane activations) {
    quarter[0] = vmlal_s16(quarter[0], vget_low_s16(weights.low), vget_low_s16(activations.low));
    quarter[1] = vmlal_high_s16(quarter[1], weights.low, activations.low);
    quarter[2] = vmlal_s16(quarter[2], vget_low_s16(weights.high), vget_low_s16(activations.high));
    quarter[3] = vmlal_high_s16(quarter[3], weights.high, activations.high);
  }
  // The segment's part of the lanes.
  Lanes8 AddTo(Lanes8 lanes, const std::byte* starting_sums, float scale) const {
    const auto* start = reinterpret_cast<const int32_t*>(starting_sums);
    const int32x4_t low = vaddq_s32(vld1q_s32(start), vpaddq_s32(quarter[0], quarter[1]));
    const int32x4_t high = vaddq_s32(vld1q_s32(start + 4), vpaddq_s32(quarter[2], quarter[3]));
    return {vfmaq_n_f32(lanes.low, vcvtq_f32_s32(low), scale),
            vfmaq_n_f32(lanes.high, vcvtq_f32_s32(high), scale)};
  }
};

// kGrouped: one weight scale per segment, else per row.
template <class Packing, bool kGrouped>
struct IntegerCodec {
  using Layout = PlanesLayout<Packing>;
  static constexpr uint32_t kTileTokens = 4;
  static constexpr size_t kTileBytes = SIZE_MAX;
  static constexpr uint32_t kMaxChunks = CeilDivide(kMaxSegment, Layout::kChunkColumns);

  Layout layout;
  const std::byte* codes;
  const float* scales;
  size_t row_bytes;
  size_t segment_bytes;  // of codes
  size_t reach;          // bytes that the chunks of a segment read

  explicit IntegerCodec(const WeightView& w)
      : layout(w.format, w.cols),
        codes(w.codes),
        scales(reinterpret_cast<const float*>(w.scales)),
        row_bytes(Packing::RowBytes(w.cols)),
        segment_bytes(size_t{layout.segment} * Packing::kChunkBytes / Layout::kChunkColumns),
        reach(size_t{layout.chunks} * Packing::kChunkBytes) {}

  template <int kPlane, uint32_t kTokens>
  static inline __attribute__((always_inline)) void AddPlanes(const std::byte* chunk,
                                                              const std::byte* planes,
                                                              size_t x_stride, Sums* sums) {
    if constexpr (kPlane < Packing::kPlanes) {
      const Plane weights = Packing::template Get<kPlane>(chunk);
      for (uint32_t t = 0; t < kTokens; ++t) {
        sums[t].Add(weights, LoadPlane(planes + t * x_stride + kPlane * kPlaneBytes));
      }
      AddPlanes<kPlane + 1, kTokens>(chunk, planes, x_stride, sums);
    }
  }

  template <uint32_t kTokens>
  inline __attribute__((always_inline)) void Segment(const std::byte* weights, uint32_t s,
                                                     const std::byte* x, size_t x_stride,
                                                     float weight_scale, Lanes8* lanes) const {
    const std::byte* record = x + layout.scale_bytes + s * layout.record_bytes;
    const std::byte* planes = record + kSumsBytes;
    Sums sums[kTokens];
    for (uint32_t c = 0; c < layout.chunks; ++c) {
      AddPlanes<0, kTokens>(weights + c * Packing::kChunkBytes,
                            planes + c * Layout::kChunkPlanesBytes, x_stride, sums);
    }
    for (uint32_t t = 0; t < kTokens; ++t) {
      float scale = 0;
      memcpy(&scale, x + t * x_stride + s * sizeof(float), sizeof(scale));
      scale = kGrouped ? weight_scale * scale : scale;
      lanes[t] = sums[t].AddTo(lanes[t], record + t * x_stride, scale);
    }
  }

  template <uint32_t kTokens>
  void Row(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride) const {
    const std::byte* weights = codes + row * row_bytes;
    const float* row_scales = scales + size_t{row} * (kGrouped ? layout.segments : 1);
    Lanes8 lanes[kTokens];
    for (Lanes8& token : lanes) {
      token = ZeroLanes();
    }
    for (uint32_t s = 0; s < layout.segments; ++s) {
      const size_t offset = s * segment_bytes;
      const float scale = kGrouped ? row_scales[s] : 1.0F;
      if (offset + reach <= row_bytes) {
        Segment<kTokens>(weights + offset, s, x, x_stride, scale, lanes);
      } else {
        std::byte tail[kMaxChunks * Packing::kChunkBytes] = {};
        memcpy(tail, weights + offset, row_bytes - offset);
        Segment<kTokens>(tail, s, x, x_stride, scale, lanes);
      }
    }
    for (uint32_t t = 0; t < kTokens; ++t) {
      y[t * y_stride] = kGrouped ? AddLanes(lanes[t]) : AddLanes(lanes[t]) * row_scales[0];
    }
  }
};

}  // namespace
}  // namespace coli
