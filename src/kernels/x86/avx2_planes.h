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
  // Adds the products of `chunks` chunks of every row, which are row_stride bytes apart, to the
  // lanes of every token: sum[r * kTokens + t]. The planes of the first token are at `planes`,
  // those of the next x_stride bytes further.
  template <class Packing, uint32_t kRows, uint32_t kTokens>
  static inline __attribute__((always_inline)) void Add(const std::byte* weights, size_t row_stride,
                                                        uint32_t chunks, const std::byte* planes,
                                                        size_t x_stride, __m256i* sum) {
    if constexpr (kRows * kTokens == 1 && Packing::kPlanesInPlace) {
      if (chunks > 1) {
        return AddInPlace<Packing>(weights, chunks, planes, *sum);
      }
    }
    constexpr size_t kPlanesBytes = PlanesLayout<Packing>::kChunkPlanesBytes;
    const std::byte* tokens[kTokens];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTokens; ++t) {
      tokens[t] = planes + t * x_stride;
      __asm__(""
              : "+r"(tokens[t]));  // or GCC keeps an address for every token and plane, in memory
    }
    if constexpr (kRows == 1) {
#pragma GCC unroll 16
      for (uint32_t c = 0; c < chunks; ++c) {
        AddChunk<Packing, kRows, kTokens>(weights + c * Packing::kChunkBytes, row_stride, tokens,
                                          c * kPlanesBytes, sum);
      }
    } else {
      // Unrolled further, the code of a tile is fetched more slowly than it computes.
      constexpr uint32_t kTogether = Packing::kPlanes == 1 ? 4 : 1;
#pragma GCC unroll 1
      for (uint32_t c = 0; c < chunks; c += kTogether) {
#pragma GCC unroll 4
        for (uint32_t i = c; i < c + kTogether; ++i) {
          AddChunk<Packing, kRows, kTokens>(weights + i * Packing::kChunkBytes, row_stride, tokens,
                                            i * kPlanesBytes, sum);
        }
      }
    }
  }

 private:
  // Add for one chunk, whose planes lie `offset` bytes after `tokens`.
  template <class Packing, uint32_t kRows, uint32_t kTokens>
  static inline __attribute__((always_inline)) void AddChunk(const std::byte* weights,
                                                             size_t row_stride,
                                                             const std::byte* const* tokens,
                                                             size_t offset, __m256i* sum) {
    using Chunk = decltype(Packing::Load(weights));
    Chunk chunk[kRows];
#pragma GCC unroll 2
    for (uint32_t r = 0; r < kRows; ++r) {
      chunk[r] = Packing::Load(weights + r * row_stride);
    }
#pragma GCC unroll 8
    for (uint32_t p = 0; p < Packing::kPlanes; ++p) {
      __m256i plane[kRows];
#pragma GCC unroll 2
      for (uint32_t r = 0; r < kRows; ++r) {
        plane[r] = Packing::Plane(chunk[r], static_cast<int>(p));
      }
#pragma GCC unroll 4
      for (uint32_t t = 0; t < kTokens; ++t) {
        const __m256i activations = Load(tokens[t] + offset + kPlaneBytes * p);
#pragma GCC unroll 2
        for (uint32_t r = 0; r < kRows; ++r) {
          __m256i& lanes = sum[r * kTokens + t];
          lanes = Instruction::MultiplyAdd(lanes, plane[r], activations);
          Pin(lanes);
        }
      }
    }
  }

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
  // With a scale for every segment, the lanes of a pair would pass through memory all the time.
  static constexpr uint32_t kPairTokens = kGrouped ? 0 : 4;
  static constexpr uint32_t kTileTokens = 4;
  static constexpr size_t kTileBytes = size_t{24} << 10;  // of a first-level cache of 32 KB
  static constexpr uint32_t kMaxChunks = kMaxSegment / Layout::kChunkColumns;

  // Four tokens in the first-level cache are as fast with one row, unless its planes cost as much
  // as those of int8: a load each.
  static bool PairsRows(size_t x_row_bytes) {
    return Packing::kPlanes == 1 || kTileTokens * x_row_bytes > kTileBytes;
  }

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

  // Segment s of kRows rows, which are row_stride bytes apart at `weights`, times kTokens tokens;
  // `record` is that of the first token.
  template <uint32_t kRows, uint32_t kTokens>
  inline __attribute__((always_inline)) void Segment(uint32_t row, const std::byte* weights,
                                                     size_t row_stride, uint32_t s,
                                                     const std::byte* x, const std::byte* record,
                                                     size_t x_stride, __m256* lanes) const {
    __m256i sum[kRows * kTokens];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kRows * kTokens; ++i) {
      sum[i] = Load(record + i % kTokens * x_stride);
    }
    Products::template Add<Packing, kRows, kTokens>(weights, row_stride, Chunks(),
                                                    record + kSumsBytes, x_stride, sum);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kRows * kTokens; ++i) {
      __m256 scale = _mm256_set1_ps(Scale(x + i % kTokens * x_stride, s));
      if constexpr (kGrouped) {
        scale = _mm256_mul_ps(_mm256_set1_ps(WeightScale(row + i / kTokens, s)), scale);
      }
      lanes[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[i]), scale, lanes[i]);
    }
  }

  // kRows rows times kTokens tokens. Before each segment of the first row, read_ahead(its bytes).
  template <uint32_t kRows, uint32_t kTokens, class Ahead>
  inline __attribute__((always_inline)) void Tile(uint32_t row, const std::byte* x, size_t x_stride,
                                                  float* y, size_t y_stride,
                                                  const Ahead& read_ahead) const {
    const std::byte* weights = codes + row * row_bytes;
    __m256 lanes[kRows * kTokens];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kRows * kTokens; ++i) {
      lanes[i] = _mm256_setzero_ps();
    }
    const std::byte* record = x + layout.scale_bytes;
    const size_t record_bytes = layout.record_bytes;
    const size_t step = segment_bytes;
    const uint32_t whole = whole_segments;
    const std::byte* here = weights;
    for (uint32_t s = 0; s < whole; ++s, here += step, record += record_bytes) {
      read_ahead(here);
      Segment<kRows, kTokens>(row, here, row_bytes, s, x, record, x_stride, lanes);
    }
    for (uint32_t s = whole; s < layout.segments; ++s, record += record_bytes) {
      Tail tails[kRows];
      for (uint32_t r = 0; r < kRows; ++r) {
        tails[r] = TailOf(weights + r * row_bytes, s);
      }
      Segment<kRows, kTokens>(row, tails[0].bytes, sizeof(Tail), s, x, record, x_stride, lanes);
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kRows * kTokens; ++i) {
      y[i % kTokens * y_stride + i / kTokens] = Finish(row + i / kTokens, lanes[i]);
    }
  }

  template <uint32_t kTokens>
  inline __attribute__((always_inline)) void Row(uint32_t row, const std::byte* x, size_t x_stride,
                                                 float* y, size_t y_stride) const {
    Tile<1, kTokens>(row, x, x_stride, y, y_stride,
                     [this](const std::byte* here) __attribute__((always_inline)) {
                       // Several tokens leave less room in the first-level cache.
                       constexpr uintptr_t kPrefetchBytes = kTokens == 1 ? 4096 : 2048;
                       if constexpr (Packing::kPrefetchPages) {
                         PrefetchNextPage(here, segment_bytes);
                       } else {
                         for (uint32_t bytes = 0; bytes < Chunks() * Packing::kChunkBytes;
                              bytes += kCacheLine) {
                           PrefetchAhead(here + bytes, kPrefetchBytes);
                         }
                       }
                     });
  }

  template <uint32_t kTokens>
  void RowPair(uint32_t row, const std::byte* x, size_t x_stride, float* y, size_t y_stride,
               ReadAhead next) const {
    const size_t step =
        RoundUpToLine(CeilDivide(static_cast<uint32_t>(next.end - next.begin), layout.segments));
    uintptr_t line = next.begin;
    Tile<2, kTokens>(row, x, x_stride, y, y_stride,
                     [&](const std::byte* /*here*/) __attribute__((always_inline)) {
                       const uintptr_t end = line + step < next.end ? line + step : next.end;
                       for (; line < end; line += kCacheLine) {
                         PrefetchLine(line);
                       }
                     });
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
