// How integer weights are packed, for the products of avx2_planes.h. Part of avx2.cc.
//
// A packing cuts a row into chunks of 16 * kPlanes columns. Of a chunk, 16-bit lane j holds the
// kPlanes neighbouring columns from kPlanes * j on; plane p is a vector of sixteen 16-bit weights,
// the p-th of every lane. The multiply-add of neighbouring lanes then sums 2 * kPlanes columns into
// each
// 32-bit lane, which is the contract's virtual lane (FormatInfo::lane_run).
//
//   kPlanes, kChunkBytes
//   kOffset         what is stored exceeds the code by this
//   kSegment        columns of a segment where the format has no group
//   kScalePerSegment  whether that segment has a scale of its own
//   kPrefetchPages  next to no arithmetic per byte: read ahead by pages (PrefetchNextPage)
//   kPlanesInPlace  planes 1 and 2 of four can be had without a shift (PlaneInPlace), 4, 8 bits up
//   RowBytes(cols)
//   Load(p)         one chunk; reads kChunkBytes
//   Plane(chunk, p)
//   Scale(scales, i), kScaleBytes
//   Eight(row, c)   the codes of columns c .. c + 7, as f32; c is a multiple of 8
//   kEightReaches   Eight may be asked for the last columns of a row although they are fewer
#pragma once

#include "kernels/x86/avx2_activations.h"

namespace coli {
namespace {

struct F32Scale {
  static constexpr bool kPrefetchPages = false;
  static constexpr bool kPlanesInPlace = false;
  static constexpr size_t kScaleBytes = 4;
  static float Scale(const std::byte* scales, size_t i) {
    float scale = 0;
    memcpy(&scale, scales + i * kScaleBytes, sizeof(scale));
    return scale;
  }
};

// The codes as they are.
struct Int8Packing : F32Scale {
  static constexpr bool kPrefetchPages = true;
  static constexpr uint32_t kPlanes = 1;
  static constexpr uint32_t kChunkBytes = 16;
  static constexpr int32_t kOffset = 0;
  static constexpr uint32_t kSegment = kMaxSegment;
  static constexpr bool kScalePerSegment = false;
  static constexpr bool kEightReaches = false;

  static size_t RowBytes(uint32_t cols) { return cols; }
  static __m128i Load(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m256i Plane(__m128i chunk, int /*p*/) { return _mm256_cvtepi8_epi16(chunk); }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + c));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
};

// Code + 8; element 2j in the low nibble of byte j.
struct Int4Packing : F32Scale {
  static constexpr bool kPlanesInPlace = true;
  static constexpr uint32_t kPlanes = 4;
  static constexpr uint32_t kChunkBytes = 32;
  static constexpr int32_t kOffset = 8;
  static constexpr uint32_t kSegment = kMaxSegment;
  static constexpr bool kScalePerSegment = false;
  static constexpr bool kEightReaches = false;

  static size_t RowBytes(uint32_t cols) { return cols / 2 + cols % 2; }
  static __m256i Load(const std::byte* p) { return coli::Load(p); }
  static __m256i Plane(__m256i chunk, int p) {
    const __m256i shifted = _mm256_srli_epi16(chunk, 4 * p);
    return p == 3 ? shifted : _mm256_and_si256(shifted, _mm256_set1_epi16(15));
  }
  static __m256i PlaneInPlace(__m256i chunk, int p) {
    return _mm256_and_si256(chunk, _mm256_set1_epi16(static_cast<int16_t>(15 << (4 * p))));
  }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    int32_t bytes = 0;
    memcpy(&bytes, row + c / 2, sizeof(bytes));
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i stored = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(bytes), shifts),
                                            _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(stored, _mm256_set1_epi32(kOffset)));
  }
};

// Code + 2; element 4j + k in bits 2k and 2k + 1 of byte j.
struct Int2Packing : F32Scale {
  static constexpr uint32_t kPlanes = 8;
  static constexpr uint32_t kChunkBytes = 32;
  static constexpr int32_t kOffset = 2;
  static constexpr uint32_t kSegment = kMaxSegment;
  static constexpr bool kScalePerSegment = false;
  static constexpr bool kEightReaches = false;

  static size_t RowBytes(uint32_t cols) { return CeilDivide(cols, 4); }
  static __m256i Load(const std::byte* p) { return coli::Load(p); }
  static __m256i Plane(__m256i chunk, int p) {
    const __m256i shifted = _mm256_srli_epi16(chunk, 2 * p);
    return p == 7 ? shifted : _mm256_and_si256(shifted, _mm256_set1_epi16(3));
  }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    uint16_t bytes = 0;
    memcpy(&bytes, row + c / 4, sizeof(bytes));
    const __m256i shifts = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i stored =
        _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(bytes), shifts), _mm256_set1_epi32(3));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(stored, _mm256_set1_epi32(kOffset)));
  }
};

// Code + 4 in groups of 64 columns: 16 bytes with the two low bits, packed like int2, and 8 bytes
// with the high bits, element 8j + b in bit b of byte j. Groups are whole, also the last one.
struct Int3Packing : F32Scale {
  static constexpr uint32_t kPlanes = 4;
  static constexpr uint32_t kChunkBytes = 24;
  static constexpr int32_t kOffset = 4;
  static constexpr uint32_t kSegment = 64;
  static constexpr bool kScalePerSegment = true;
  static constexpr bool kEightReaches = true;
  static constexpr uint32_t kLowBytes = 16;

  static size_t RowBytes(uint32_t cols) { return size_t{CeilDivide(cols, kSegment)} * kChunkBytes; }

  // The chunk as int4 would have it, one nibble per column. Every nibble of the stored bytes (two
  // columns of low bits, four of high bits) is looked up: in the lower half of the register for
  // columns 4j and 4j + 1, in the upper half for 4j + 2 and 4j + 3.
  static __m256i Load(const std::byte* p) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i low =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i pairs =
        _mm256_and_si256(_mm256_srlv_epi32(low, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4)), nibble);
    const __m256i high =
        _mm256_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + kLowBytes)));
    const __m256i fours = _mm256_unpacklo_epi8(
        _mm256_and_si256(high, nibble), _mm256_and_si256(_mm256_srli_epi16(high, 4), nibble));
    const __m256i spread_low =
        _mm256_setr_epi8(0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51,  //
                         0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51);
    const __m256i spread_high =
        _mm256_setr_epi8(0, 4, 64, 68, 0, 4, 64, 68, 0, 4, 64, 68, 0, 4, 64, 68,  //
                         0, 0, 0, 0, 4, 4, 4, 4, 64, 64, 64, 64, 68, 68, 68, 68);
    const __m256i halves = _mm256_or_si256(_mm256_shuffle_epi8(spread_low, pairs),
                                           _mm256_shuffle_epi8(spread_high, fours));
    const __m256i interleave =
        _mm256_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 0, 8, 1, 9, 2, 10, 3,
                         11, 4, 12, 5, 13, 6, 14, 7, 15);
    return _mm256_shuffle_epi8(_mm256_permute4x64_epi64(halves, 0xd8), interleave);
  }
  static __m256i Plane(__m256i chunk, int p) { return Int4Packing::Plane(chunk, p); }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    const std::byte* group = row + size_t{c / kSegment} * kChunkBytes;
    uint16_t low = 0;
    memcpy(&low, group + c % kSegment / 4, sizeof(low));
    const auto high = static_cast<int32_t>(group[kLowBytes + c % kSegment / 8]);
    const __m256i twos =
        _mm256_srlv_epi32(_mm256_set1_epi32(low), _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    const __m256i ones =
        _mm256_srlv_epi32(_mm256_set1_epi32(high << 2), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i stored = _mm256_or_si256(_mm256_and_si256(twos, _mm256_set1_epi32(3)),
                                           _mm256_and_si256(ones, _mm256_set1_epi32(4)));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(stored, _mm256_set1_epi32(kOffset)));
  }
};

// e2m1 nibbles in the order of int4, groups of 32 columns. The code is twice the value, the scale
// the byte e of 2^(e - 128).
struct Mxfp4Packing {
  static constexpr bool kPrefetchPages = false;
  static constexpr bool kPlanesInPlace = false;
  static constexpr uint32_t kPlanes = 2;
  static constexpr uint32_t kChunkBytes = 16;
  static constexpr int32_t kOffset = 0;
  static constexpr uint32_t kSegment = 32;
  static constexpr bool kScalePerSegment = true;
  static constexpr size_t kScaleBytes = 1;
  static constexpr bool kEightReaches = false;

  static size_t RowBytes(uint32_t cols) { return cols / 2 + cols % 2; }
  static __m128i Load(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m256i Plane(__m128i chunk, int p) {
    const __m128i doubled = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    const __m128i index = _mm_and_si128(_mm_srli_epi16(chunk, 4 * p), _mm_set1_epi8(15));
    return _mm256_cvtepi8_epi16(_mm_shuffle_epi8(doubled, index));
  }
  static float Scale(const std::byte* scales, size_t i) {
    const auto e = static_cast<uint32_t>(scales[i]);
    uint32_t bits = e >= 2 ? (e - 1) << 23 : 0x200000U << e;
    bits = e == 255 ? 0x7fc00000U : bits;
    float scale = 0;
    memcpy(&scale, &bits, sizeof(scale));
    return scale;
  }
  static __m256 Eight(const std::byte* row, uint32_t c) {
    int32_t bytes = 0;
    memcpy(&bytes, row + c / 2, sizeof(bytes));
    const __m256i nibbles =
        _mm256_srlv_epi32(_mm256_set1_epi32(bytes), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i magnitudes =
        _mm256_permutevar8x32_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 6, 8, 12), nibbles);
    // The fourth bit of a nibble, moved to the sign, decides; a magnitude of 0 stays 0.
    const __m256i signs = _mm256_or_si256(_mm256_slli_epi32(nibbles, 28), _mm256_set1_epi32(1));
    return _mm256_cvtepi32_ps(_mm256_sign_epi32(magnitudes, signs));
  }
};

}  // namespace
}  // namespace coli
