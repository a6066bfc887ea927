// Products with int4 weights. Part of avx2.cc.
//
// 32 bytes of codes hold 64 columns. Seen as sixteen 16-bit lanes, lane j holds columns 4j..4j+3 in
// its four nibbles, so three shifts and masks give four vectors of 16-bit weights without widening.
// The activations are kept in the same four planes: plane p of a chunk holds columns 4j+p. A
// multiply-add of neighbours then sums columns 8l..8l+7 into 32-bit lane l, which is the contract's
// virtual lane. Codes are stored as q + 8; the sums start at minus eight times the sum of the
// activations of the lane.
//
// A prepared row: one scale per segment, padded to a line; then per segment eight starting sums and
// the planes of its chunks. Columns that a chunk has beyond its segment have activation 0, so
// whatever nibbles lie there do not count.
#pragma once

#include "kernels/x86/avx2_activations.h"
#include "kernels/x86/avx2_tiles.h"

namespace coli {
namespace {

constexpr uint32_t kInt4Chunk = 64;        // columns
constexpr uint32_t kInt4ChunkBytes = 32;   // of codes
constexpr uint32_t kInt4PlaneBytes = 128;  // the four planes of a chunk
constexpr uint32_t kInt4MaxChunks = kMaxSegment / kInt4Chunk;

struct Int4Layout {
  uint32_t segment;  // columns
  uint32_t segments;
  uint32_t chunks;  // per segment
  size_t scale_bytes;
  size_t record_bytes;  // of one segment

  Int4Layout(Format format, uint32_t cols)
      : segment(format.group != 0 ? format.group : kMaxSegment),
        segments(CeilDivide(cols, segment)),
        chunks(CeilDivide(segment, kInt4Chunk)),
        scale_bytes(RoundUpToLine(segments * sizeof(float))),
        record_bytes(32 + size_t{chunks} * kInt4PlaneBytes) {}
};

size_t Int4PreparedBytes(Format format, uint32_t cols) {
  const Int4Layout layout(format, cols);
  return RoundUpToLine(layout.scale_bytes + layout.segments * layout.record_bytes);
}

// Columns 16i..16i+15 of a chunk, reordered so that 64-bit quarter p holds the four columns of
// plane p.
inline __m256i GatherPlanes(const int16_t* codes) {
  const __m256i by_plane =
      _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,  //
                       0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  const __m256i halves = _mm256_shuffle_epi8(Load(codes), by_plane);
  return _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Writes the planes of 64 codes; returns the sum of the activations of each virtual lane.
inline __m256i WritePlanes(const int16_t* codes, std::byte* out) {
  const __m256i a = GatherPlanes(codes);
  const __m256i b = GatherPlanes(codes + 16);
  const __m256i c = GatherPlanes(codes + 32);
  const __m256i d = GatherPlanes(codes + 48);
  const __m256i ab02 = _mm256_unpacklo_epi64(a, b);
  const __m256i ab13 = _mm256_unpackhi_epi64(a, b);
  const __m256i cd02 = _mm256_unpacklo_epi64(c, d);
  const __m256i cd13 = _mm256_unpackhi_epi64(c, d);
  const __m256i plane[4] = {
      _mm256_permute2x128_si256(ab02, cd02, 0x20), _mm256_permute2x128_si256(ab13, cd13, 0x20),
      _mm256_permute2x128_si256(ab02, cd02, 0x31), _mm256_permute2x128_si256(ab13, cd13, 0x31)};
  __m256i sum = _mm256_setzero_si256();
  for (int p = 0; p < 4; ++p) {
    Store(out + 32 * p, plane[p]);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(plane[p], _mm256_set1_epi16(1)));
  }
  return sum;
}

void Int4Prepare(Format format, const float* x, uint32_t cols, std::byte* out) {
  const Int4Layout layout(format, cols);
  memset(out, 0, layout.scale_bytes);
  for (uint32_t s = 0; s < layout.segments; ++s) {
    const uint32_t begin = s * layout.segment;
    const uint32_t count = cols - begin < layout.segment ? cols - begin : layout.segment;
    SegmentCodes segment;
    QuantizeSegment(x + begin, count, segment);
    memcpy(out + s * sizeof(float), &segment.scale, sizeof(float));

    std::byte* record = out + layout.scale_bytes + s * layout.record_bytes;
    __m256i sum = _mm256_setzero_si256();
    for (uint32_t c = 0; c < layout.chunks; ++c) {
      sum = _mm256_add_epi32(
          sum, WritePlanes(segment.codes + c * kInt4Chunk, record + 32 + c * kInt4PlaneBytes));
    }
    Store(record, _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(sum, 3)));
  }
}

// One matrix. kChunks: chunks per segment if known, else 0. kGrouped: one weight scale per segment,
// else per row.
template <uint32_t kChunks, bool kGrouped>
struct Int4Codec {
  static constexpr uint32_t kTileTokens = 2;
  static constexpr uintptr_t kPrefetchBytes = 2048;

  Int4Layout layout;
  const std::byte* codes;
  const float* scales;
  size_t row_bytes;
  size_t segment_bytes;     // of codes
  uint32_t whole_segments;  // whose chunks lie within the row

  explicit Int4Codec(const WeightView& w)
      : layout(w.format, w.cols),
        codes(w.codes),
        scales(w.scales),
        row_bytes(w.cols / 2 + w.cols % 2),
        segment_bytes(layout.segment / 2) {
    const size_t reach = size_t{Chunks()} * kInt4ChunkBytes;
    whole_segments =
        row_bytes < reach ? 0 : static_cast<uint32_t>((row_bytes - reach) / segment_bytes) + 1;
    whole_segments = whole_segments < layout.segments ? whole_segments : layout.segments;
  }

  uint32_t Chunks() const { return kChunks != 0 ? kChunks : layout.chunks; }

  template <uint32_t kTokens>
  inline __attribute__((always_inline)) void Segment(const std::byte* weights, uint32_t s,
                                                     const std::byte* x, size_t x_stride,
                                                     float weight_scale, __m256* lanes) const {
    const std::byte* record = x + layout.scale_bytes + s * layout.record_bytes;
    const __m256i nibble = _mm256_set1_epi16(15);
    __m256i sum[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      sum[t] = Load(record + t * x_stride);
    }
    const uint32_t chunk_count = Chunks();
#pragma GCC unroll 4
    for (uint32_t c = 0; c < chunk_count; ++c) {
      const __m256i v = Load(weights + c * kInt4ChunkBytes);
      const __m256i plane[4] = {
          _mm256_and_si256(v, nibble), _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble),
          _mm256_and_si256(_mm256_srli_epi16(v, 8), nibble), _mm256_srli_epi16(v, 12)};
#pragma GCC unroll 4
      for (uint32_t t = 0; t < kTokens; ++t) {
        const std::byte* planes = record + t * x_stride + 32 + c * kInt4PlaneBytes;
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) {
          sum[t] = _mm256_add_epi32(sum[t], _mm256_madd_epi16(plane[p], Load(planes + 32 * p)));
          Pin(sum[t]);
        }
      }
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      float scale = 0;
      memcpy(&scale, x + t * x_stride + s * sizeof(float), sizeof(scale));
      scale = kGrouped ? weight_scale * scale : scale;
      lanes[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t]), _mm256_set1_ps(scale), lanes[t]);
    }
  }

  template <uint32_t kTokens>
  void Row(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride) const {
    const std::byte* weights = codes + row * row_bytes;
    const float* row_scales = scales + size_t{row} * (kGrouped ? layout.segments : 1);
    __m256 lanes[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      lanes[t] = _mm256_setzero_ps();
    }
    for (uint32_t s = 0; s < whole_segments; ++s) {
      const std::byte* here = weights + s * segment_bytes;
      for (uint32_t line = 0; line < Chunks(); line += 2) {
        PrefetchAhead(here + line * kInt4ChunkBytes, kPrefetchBytes);
      }
      Segment<kTokens>(here, s, x, x_stride, row_scales[kGrouped ? s : 0], lanes);
    }
    for (uint32_t s = whole_segments; s < layout.segments; ++s) {
      alignas(32) std::byte tail[kInt4MaxChunks * kInt4ChunkBytes] = {};
      const size_t left = row_bytes - s * segment_bytes;
      memcpy(tail, weights + s * segment_bytes, left < sizeof(tail) ? left : sizeof(tail));
      Segment<kTokens>(tail, s, x, x_stride, row_scales[kGrouped ? s : 0], lanes);
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      const float sum = AddLanes(lanes[t]);
      y[t * y_stride] = kGrouped ? sum : sum * row_scales[0];
    }
  }
};

void Int4GroupedMultiply(const WeightView& w, const PreparedRows& x, uint32_t row_begin,
                         uint32_t row_end, float* y, size_t y_stride) {
  switch (w.format.group) {
    case 64:
      return Multiply<Int4Codec<1, true>>(w, x, row_begin, row_end, y, y_stride);
    case 128:
      return Multiply<Int4Codec<2, true>>(w, x, row_begin, row_end, y, y_stride);
    case 256:
      return Multiply<Int4Codec<4, true>>(w, x, row_begin, row_end, y, y_stride);
    default:
      return Multiply<Int4Codec<0, true>>(w, x, row_begin, row_end, y, y_stride);
  }
}

}  // namespace
}  // namespace coli
