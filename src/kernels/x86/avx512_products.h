// Products of integer weights in registers of 512 bits, in place of ChunkProducts of avx2_planes.h.
// Part of avx512_vnni.cc and of its stand-in.
//
// A register holds two planes of a chunk, or two chunks of one plane, as the activations have them
// side by side. Either way a lane of the lower half and the same lane of the upper half belong to
// one virtual lane: the halves are added at the end of the segment, as integers.
#pragma once

#include "kernels/x86/avx2_planes.h"

namespace coli {
namespace {

// How weights get into wide registers, two planes of Packing at a time.
//
//   kChunks         chunks that are loaded together
//   kPairs          registers of two planes they give
//   kUpperShift     the upper half is 2^kUpperShift times the weights
//   Load(p), Pair(chunks, i)
template <class Wide, class Packing>
struct PlanePairs {
  static constexpr uint32_t kChunks = 1;
  static constexpr uint32_t kPairs = Packing::kPlanes / 2;
  static constexpr int kUpperShift = 0;
  static auto Load(const std::byte* p) { return Packing::Load(p); }
  template <class Chunk>
  static auto Pair(Chunk chunk, uint32_t i) {
    return Wide::Halves(Packing::Plane(chunk, 2 * static_cast<int>(i)),
                        Packing::Plane(chunk, 2 * static_cast<int>(i) + 1));
  }
};

// Planes that are fields of kBits neighbouring bits: the field of the upper half stays one field
// further up, which saves its shift.
template <class Wide, class Packing, int kBits>
struct FieldPairs {
  static constexpr uint32_t kChunks = 1;
  static constexpr uint32_t kPairs = Packing::kPlanes / 2;
  static constexpr int kUpperShift = kBits;
  static auto Load(const std::byte* p) { return Wide::Twice(Packing::Load(p)); }
  template <class Register>
  static auto Pair(Register chunk, uint32_t i) {
    constexpr int16_t kField = (1 << kBits) - 1;
    const auto fields = Wide::Halves(_mm256_set1_epi16(kField), _mm256_set1_epi16(kField << kBits));
    // What a shift of 32-bit lanes brings down from the next 16-bit lane lies above the fields.
    return Wide::And(Wide::ShiftRight(chunk, 2 * kBits * i), fields);
  }
};

template <class Wide>
struct PlanePairs<Wide, Int4Packing> : FieldPairs<Wide, Int4Packing, 4> {};
template <class Wide>
struct PlanePairs<Wide, Int3Packing> : FieldPairs<Wide, Int3Packing, 4> {};
template <class Wide>
struct PlanePairs<Wide, Int2Packing> : FieldPairs<Wide, Int2Packing, 2> {};

template <class Wide>
struct PlanePairs<Wide, Int8Packing> {
  static constexpr uint32_t kChunks = 2;
  static constexpr uint32_t kPairs = 1;
  static constexpr int kUpperShift = 0;
  static auto Load(const std::byte* p) { return Wide::FromBytes(coli::Load(p)); }
  template <class Register>
  static auto Pair(Register chunks, uint32_t /*i*/) {
    return chunks;
  }
};

// Wide: a register of 512 bits and what it can do (Avx512Vnni in avx512_vnni.cc).
template <class Wide>
struct WideProducts {
  // As ChunkProducts::Add. `chunks` is a multiple of PlanePairs::kChunks.
  template <class Packing, uint32_t kRows, uint32_t kTokens>
  static inline __attribute__((always_inline)) void Add(const std::byte* weights, size_t row_stride,
                                                        uint32_t chunks, const std::byte* planes,
                                                        size_t x_stride, __m256i* sum) {
    using Pairs = PlanePairs<Wide, Packing>;
    typename Wide::Register halves[kRows * kTokens];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kRows * kTokens; ++i) {
      halves[i] = Wide::ZeroExtend(sum[i]);
    }
#pragma GCC unroll 16
    for (uint32_t c = 0; c < chunks; c += Pairs::kChunks) {
      using Loaded = decltype(Pairs::Load(weights));
      Loaded loaded[kRows];
#pragma GCC unroll 2
      for (uint32_t r = 0; r < kRows; ++r) {
        loaded[r] = Pairs::Load(weights + r * row_stride + c * Packing::kChunkBytes);
      }
      const std::byte* here = planes + c * PlanesLayout<Packing>::kChunkPlanesBytes;
#pragma GCC unroll 4
      for (uint32_t i = 0; i < Pairs::kPairs; ++i) {
        typename Wide::Register pair[kRows];
#pragma GCC unroll 2
        for (uint32_t r = 0; r < kRows; ++r) {
          pair[r] = Pairs::Pair(loaded[r], i);
        }
#pragma GCC unroll 4
        for (uint32_t t = 0; t < kTokens; ++t) {
          const auto activations = Wide::Load(here + t * x_stride + 2 * kPlaneBytes * i);
#pragma GCC unroll 2
          for (uint32_t r = 0; r < kRows; ++r) {
            auto& lanes = halves[r * kTokens + t];
            lanes = Wide::MultiplyAdd(lanes, pair[r], activations);
            Wide::Pin(lanes);
          }
        }
      }
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kRows * kTokens; ++i) {
      const __m256i upper = _mm256_srai_epi32(Wide::Upper(halves[i]), Pairs::kUpperShift);
      sum[i] = _mm256_add_epi32(Wide::Lower(halves[i]), upper);
    }
  }
};

}  // namespace
}  // namespace coli
