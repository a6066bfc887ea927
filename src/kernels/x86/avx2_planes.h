// Products with integer weights, packed as avx2_packings.h says: those of AVX2 and the frame for
// instruction sets that sum products in another way. Part of avx2.cc and of their .cc files.
//
// The activations are kept in the planes of the weights (kernels/planes_layout.h). So shifts and
// masks give vectors of 16-bit weights without widening, and multiply-adds sum them into the
// contract's virtual lanes.
#pragma once

#include "kernels/x86/avx2.h"
#include "kernels/x86/avx2_activations.h"
#include "kernels/x86/avx2_common.h"
#include "kernels/x86/avx2_packings.h"

namespace coli {
namespace {

// Columns 16i..16i+15 of a chunk, reordered so that 64-bit quarter p holds the four columns of
// plane p.
inline __m256i GatherPlanes(const int16_t* codes) {
  const __m256i by_plane =
      _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,  //
                       0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  const __m256i halves = _mm256_shuffle_epi8(Load(codes), by_plane);
  return _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// The planes of one chunk of codes.
template <uint32_t kPlanes>
inline void GatherChunk(const int16_t* codes, __m256i* plane) {
  alignas(32) int16_t planes[kPlanes][16];
  for (uint32_t j = 0; j < 16; ++j) {
    for (uint32_t p = 0; p < kPlanes; ++p) {
      planes[p][j] = codes[kPlanes * j + p];
    }
  }
  for (uint32_t p = 0; p < kPlanes; ++p) {
    plane[p] = Load(planes[p]);
  }
}

template <>
inline void GatherChunk<1>(const int16_t* codes, __m256i* plane) {
  plane[0] = Load(codes);
}

template <>
inline void GatherChunk<4>(const int16_t* codes, __m256i* plane) {
  const __m256i a = GatherPlanes(codes);
  const __m256i b = GatherPlanes(codes + 16);
  const __m256i c = GatherPlanes(codes + 32);
  const __m256i d = GatherPlanes(codes + 48);
  const __m256i ab02 = _mm256_unpacklo_epi64(a, b);
  const __m256i ab13 = _mm256_unpackhi_epi64(a, b);
  const __m256i cd02 = _mm256_unpacklo_epi64(c, d);
  const __m256i cd13 = _mm256_unpackhi_epi64(c, d);
  plane[0] = _mm256_permute2x128_si256(ab02, cd02, 0x20);
  plane[1] = _mm256_permute2x128_si256(ab13, cd13, 0x20);
  plane[2] = _mm256_permute2x128_si256(ab02, cd02, 0x31);
  plane[3] = _mm256_permute2x128_si256(ab13, cd13, 0x31);
}

// Writes the planes of one chunk of codes; returns the sum of the activations of each virtual lane.
template <uint32_t kPlanes>
inline __m256i WriteChunk(const int16_t* codes, std::byte* out) {
  __m256i plane[kPlanes];
  GatherChunk<kPlanes>(codes, plane);
  __m256i sum = _mm256_setzero_si256();
  for (uint32_t p = 0; p < kPlanes; ++p) {
    Store(out + kPlaneBytes * p, plane[p]);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(plane[p], _mm256_set1_epi16(1)));
  }
  return sum;
}

template <class Packing>
void PlanesPrepare(Format format, const float* x, uint32_t cols, std::byte* out) {
  using Layout = PlanesLayout<Packing>;
  const Layout layout(format, cols);
  memset(out, 0, layout.scale_bytes);
  for (uint32_t s = 0; s < layout.segments; ++s) {
    const uint32_t begin = s * layout.segment;
    const uint32_t count = cols - begin < layout.segment ? cols - begin : layout.segment;
    SegmentCodes segment;
    QuantizeSegment(x + begin, count, segment);
    memcpy(out + s * sizeof(float), &segment.scale, sizeof(float));

    std::byte* record = out + layout.scale_bytes + s * layout.record_bytes;
    std::byte* planes = record + kSumsBytes;
    __m256i sum = _mm256_setzero_si256();
    for (uint32_t c = 0; c < layout.chunks; ++c) {
      const int16_t* codes = segment.codes + c * Layout::kChunkColumns;
      sum = _mm256_add_epi32(
          sum, WriteChunk<Packing::kPlanes>(codes, planes + c * Layout::kChunkPlanesBytes));
    }
    Store(record, _mm256_mullo_epi32(sum, _mm256_set1_epi32(-Packing::kOffset)));
  }
}

// The products of a segment in registers of 256 bits. Instruction::MultiplyAdd(sum, a, b) is sum
// plus, in each 32-bit lane, the two products of the 16-bit lanes there.
template <class Instruction>
struct ChunkProducts {
  // Adds the products of `chunks` chunks to the lanes of every token. The planes of the first token
  // are at `planes`, those of the next x_stride bytes further.
  template <class Packing, uint32_t kTokens>
  static inline __attribute__((always_inline)) void Add(const std::byte* weights, uint32_t chunks,
                                                        const std::byte* planes, size_t x_stride,
                                                        __m256i* sum) {
    if constexpr (kTokens == 1 && Packing::kPlanesInPlace) {
      if (chunks > 1) {
        return AddInPlace<Packing>(weights, chunks, planes, *sum);
      }
    }
#pragma GCC unroll 16
    for (uint32_t c = 0; c < chunks; ++c) {
      const auto chunk = Packing::Load(weights + c * Packing::kChunkBytes);
      const std::byte* here = planes + c * PlanesLayout<Packing>::kChunkPlanesBytes;
#pragma GCC unroll 8
      for (uint32_t p = 0; p < Packing::kPlanes; ++p) {
        const __m256i plane = Packing::Plane(chunk, static_cast<int>(p));
#pragma GCC unroll 4
        for (uint32_t t = 0; t < kTokens; ++t) {
          const __m256i activations = Load(here + t * x_stride + kPlaneBytes * p);
          sum[t] = Instruction::MultiplyAdd(sum[t], plane, activations);
          Pin(sum[t]);
        }
      }
    }
  }

 private:
  // Add for one token, where moving a plane into place costs as much as its product: planes 1 and 2
  // of four stay where they are in their 16 bits, 4 and 8 bits up, and so do the sums of their
  // products, which are moved once. A lane of those stays below 2 * 4 * (15 << 8) * 32767 < 2^30.
  template <class Packing>
  static inline __attribute__((always_inline)) void AddInPlace(const std::byte* weights,
                                                               uint32_t chunks,
                                                               const std::byte* planes,
                                                               __m256i& sum) {
    __m256i sum_up_4 = _mm256_setzero_si256();
    __m256i sum_up_8 = _mm256_setzero_si256();
    const auto add = [](__m256i& to, __m256i plane, const std::byte* activations) {
      to = Instruction::MultiplyAdd(to, plane, Load(activations));
      Pin(to);
    };
#pragma GCC unroll 4
    for (uint32_t c = 0; c < chunks; ++c) {
      const __m256i chunk = Packing::Load(weights + c * Packing::kChunkBytes);
      const std::byte* here = planes + c * PlanesLayout<Packing>::kChunkPlanesBytes;
      add(sum, Packing::Plane(chunk, 0), here);
      add(sum_up_4, Packing::PlaneInPlace(chunk, 1), here + kPlaneBytes);
      add(sum_up_8, Packing::PlaneInPlace(chunk, 2), here + 2 * kPlaneBytes);
      add(sum, Packing::Plane(chunk, 3), here + 3 * kPlaneBytes);
    }
    sum_up_4 = _mm256_add_epi32(sum_up_4, _mm256_srai_epi32(sum_up_8, 4));
    sum = _mm256_add_epi32(sum, _mm256_srai_epi32(sum_up_4, 4));
  }
};

struct Avx2Instruction {
  static __m256i MultiplyAdd(__m256i sum, __m256i a, __m256i b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
  }
};
using Avx2Products = ChunkProducts<Avx2Instruction>;

// One matrix. Products: as ChunkProducts. kChunks: chunks per segment if known, else 0. kGrouped:
// one weight scale per segment, else per row.
template <class Products, class Packing, uint32_t kChunks, bool kWithScales>
struct PlanesCodec {
  using Layout = PlanesLayout<Packing>;
  static constexpr bool kGrouped = kWithScales;
  static constexpr uint32_t kTileTokens = 4;
  static constexpr size_t kTileBytes = size_t{24} << 10;  // of a first-level cache of 32 KB
  static constexpr uintptr_t kPrefetchBytes = 4096;
  static constexpr uint32_t kMaxChunks = kMaxSegment / Layout::kChunkColumns;

  Layout layout;
  const std::byte* codes;
  const std::byte* scales;
  size_t row_bytes;
  size_t segment_bytes;     // of codes
  uint32_t whole_segments;  // whose chunks lie within the row

  explicit PlanesCodec(const WeightView& w)
      : layout(w.format, w.cols),
        codes(w.codes),
        scales(w.scales),
        row_bytes(Packing::RowBytes(w.cols)),
        segment_bytes(layout.segment * Packing::kChunkBytes / Layout::kChunkColumns) {
    const size_t reach = size_t{Chunks()} * Packing::kChunkBytes;
    whole_segments =
        row_bytes < reach ? 0 : static_cast<uint32_t>((row_bytes - reach) / segment_bytes) + 1;
    whole_segments = whole_segments < layout.segments ? whole_segments : layout.segments;
  }

  uint32_t Chunks() const { return kChunks != 0 ? kChunks : layout.chunks; }
  static float Scale(const std::byte* x, uint32_t s) {
    float scale = 0;
    memcpy(&scale, x + s * sizeof(float), sizeof(scale));
    return scale;
  }
  float WeightScale(uint32_t row, uint32_t s) const {
    return Packing::Scale(scales, size_t{row} * layout.segments + s);
  }
  float Finish(uint32_t row, __m256 lanes) const {
    const float sum = AddLanes(lanes);
    return kGrouped ? sum : sum * Packing::Scale(scales, row);
  }

  // The chunks of the last segments of a row, which end beyond it, filled up with zeros.
  struct Tail {
    alignas(32) std::byte bytes[kMaxChunks * Packing::kChunkBytes];
  };
  Tail TailOf(const std::byte* row, uint32_t s) const {
    Tail tail = {};
    const size_t left = row_bytes - s * segment_bytes;
    memcpy(tail.bytes, row + s * segment_bytes,
           left < sizeof(tail.bytes) ? left : sizeof(tail.bytes));
    return tail;
  }

  template <uint32_t kTokens>
  inline __attribute__((always_inline)) void Segment(const std::byte* weights, uint32_t s,
                                                     const std::byte* x, size_t x_stride,
                                                     float weight_scale, __m256* lanes) const {
    const std::byte* record = x + layout.scale_bytes + s * layout.record_bytes;
    __m256i sum[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      sum[t] = Load(record + t * x_stride);
    }
    Products::template Add<Packing, kTokens>(weights, Chunks(), record + kSumsBytes, x_stride, sum);
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      const float scale_x = Scale(x + t * x_stride, s);
      const float scale = kGrouped ? weight_scale * scale_x : scale_x;
      lanes[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t]), _mm256_set1_ps(scale), lanes[t]);
    }
  }

  template <uint32_t kTokens>
  void Row(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride) const {
    const std::byte* weights = codes + row * row_bytes;
    const auto scale_of = [&](uint32_t s) { return kGrouped ? WeightScale(row, s) : 1.0F; };
    __m256 lanes[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      lanes[t] = _mm256_setzero_ps();
    }
    for (uint32_t s = 0; s < whole_segments; ++s) {
      const std::byte* here = weights + s * segment_bytes;
      if constexpr (Packing::kPrefetchPages) {
        PrefetchNextPage(here, segment_bytes);
      } else {
        for (uint32_t bytes = 0; bytes < Chunks() * Packing::kChunkBytes; bytes += kCacheLine) {
          PrefetchAhead(here + bytes, kPrefetchBytes);
        }
      }
      Segment<kTokens>(here, s, x, x_stride, scale_of(s), lanes);
    }
    for (uint32_t s = whole_segments; s < layout.segments; ++s) {
      const Tail tail = TailOf(weights, s);
      Segment<kTokens>(tail.bytes, s, x, x_stride, scale_of(s), lanes);
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      y[t * y_stride] = Finish(row, lanes[t]);
    }
  }
};

template <class Products>
void Int4GroupedMultiply(const WeightView& w, const PreparedRows& x, uint32_t row_begin,
                         uint32_t row_end, float* y, size_t y_stride) {
  switch (w.format.group) {
    case 64:
      return Multiply<PlanesCodec<Products, Int4Packing, 1, true>>(w, x, row_begin, row_end, y,
                                                                   y_stride);
    case 128:
      return Multiply<PlanesCodec<Products, Int4Packing, 2, true>>(w, x, row_begin, row_end, y,
                                                                   y_stride);
    case 256:
      return Multiply<PlanesCodec<Products, Int4Packing, 4, true>>(w, x, row_begin, row_end, y,
                                                                   y_stride);
    default:
      return Multiply<PlanesCodec<Products, Int4Packing, 0, true>>(w, x, row_begin, row_end, y,
                                                                   y_stride);
  }
}

// Packed weights with kChunks chunks per segment.
template <class Products, class Packing, uint32_t kChunks>
constexpr auto* kRowMultiply =
    Multiply<PlanesCodec<Products, Packing, kChunks, Packing::kScalePerSegment>>;

// nullptr for formats without planes.
template <class Products>
constexpr decltype(MatrixKernels::multiply) PlanesMultiply(FormatId id) {
  switch (id) {
    case FormatId::kInt8Row:
      return kRowMultiply<Products, Int8Packing, 16>;
    case FormatId::kInt4Row:
      return kRowMultiply<Products, Int4Packing, 4>;
    case FormatId::kInt4Grouped:
      return Int4GroupedMultiply<Products>;
    case FormatId::kInt2Row:
      return kRowMultiply<Products, Int2Packing, 2>;
    case FormatId::kInt3G64:
      return kRowMultiply<Products, Int3Packing, 1>;
    case FormatId::kMxfp4:
      return kRowMultiply<Products, Mxfp4Packing, 1>;
    default:
      return nullptr;
  }
}

// The kernels of AVX2 with other products of integer weights.
template <class Products>
constexpr IsaKernels Avx2KernelsWith() {
  IsaKernels kernels{.base = Avx2Kernels};
  for (size_t i = 0; i < kFormatCount; ++i) {
    kernels.matrix[i].multiply = PlanesMultiply<Products>(static_cast<FormatId>(i));
  }
  return kernels;
}

}  // namespace
}  // namespace coli
