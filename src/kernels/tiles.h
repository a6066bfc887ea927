// The loops over rows and tokens that every product shares, and the bytes of a prepared float row.
// Included by the .cc files of instruction sets: all of it has internal linkage, so that no
// function compiled for one of them can stand in for one that runs on every CPU.
//
// A codec describes the products of one format:
//   Codec(w)                                            shapes and pointers of a matrix
//   codec.Row<kTokens>(row, x, x_stride, y, y_stride)   a weight row times kTokens prepared tokens
//   kTileTokens, kTileBytes   tokens that pass a row together, if their prepared rows take at most
//                             this much; else two
// and, where two rows can share what is loaded of a token:
//   kPairTokens     tokens that pass two rows together; 0 where two rows gain nothing
//   PairsRows(bytes)   whether they gain for tokens of so many prepared bytes
//   codec.RowPair<kPairTokens>(row, x, x_stride, y, y_stride, next)   rows `row` and row + 1; asks
//                             for the lines of `next` meanwhile
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernel_functions.h"

namespace coli {
namespace {

constexpr uint32_t kCacheLine = 64;
// Rows that stay in the second-level cache while all tokens pass over them.
constexpr uint32_t kRowBlock = 64;
// Prepared tokens that stay there while pairs of rows pass over them.
constexpr size_t kTokenBlockBytes = size_t{224} << 10;

constexpr uint32_t CeilDivide(uint32_t a, uint32_t b) { return a / b + (a % b != 0 ? 1 : 0); }

inline size_t RoundUpToLine(size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// As many tiles of kTokens tokens as fit after `t`, which is moved past them.
template <uint32_t kTokens, class Codec>
void MultiplyTiles(const Codec& codec, const PreparedRows& x, uint32_t begin, uint32_t end,
                   uint32_t& t, float* y, size_t y_stride) {
  for (; t + kTokens <= x.tokens; t += kTokens) {
    for (uint32_t r = begin; r < end; ++r) {
      codec.template Row<kTokens>(r, x.bytes + t * x.row_bytes, x.row_bytes, y + t * y_stride + r,
                                  y_stride);
    }
  }
}

// Addresses of bytes that will be needed soon, or lie beyond the matrix.
struct ReadAhead {
  uintptr_t begin;
  uintptr_t end;
};

template <class Codec>
void MultiplyBlock(const Codec& codec, const PreparedRows& x, uint32_t begin, uint32_t end,
                   float* y, size_t y_stride) {
  uint32_t t = 0;
  if (Codec::kTileTokens * x.row_bytes <= Codec::kTileBytes) {
    MultiplyTiles<Codec::kTileTokens>(codec, x, begin, end, t, y, y_stride);
  }
  if constexpr (Codec::kTileTokens > 2) {
    MultiplyTiles<2>(codec, x, begin, end, t, y, y_stride);
  }
  MultiplyTiles<1>(codec, x, begin, end, t, y, y_stride);
}

// Tiles of two rows and kPairTokens tokens; the rows and the tokens are multiples of that. All
// tokens of a block pass a pair of rows, and the next pair is read meanwhile.
template <class Codec>
void MultiplyPairs(const Codec& codec, const PreparedRows& x, uint32_t begin, uint32_t end,
                   float* y, size_t y_stride) {
  constexpr uint32_t kTokens = Codec::kPairTokens;
  const auto fitting = static_cast<uint32_t>(kTokenBlockBytes / (x.row_bytes * kTokens)) * kTokens;
  const uint32_t block = fitting < kTokens ? kTokens : fitting;
  for (uint32_t first = 0; first < x.tokens; first += block) {
    const uint32_t last = x.tokens - first < block ? x.tokens : first + block;
    const size_t share = RoundUpToLine(2 * codec.row_bytes * kTokens / (last - first));
    for (uint32_t r = begin; r < end; r += 2) {
      uintptr_t next = reinterpret_cast<uintptr_t>(codec.codes) + (r + 2) * codec.row_bytes;
      for (uint32_t t = first; t < last; t += kTokens, next += share) {
        codec.template RowPair<kTokens>(r, x.bytes + t * x.row_bytes, x.row_bytes,
                                        y + t * y_stride + r, y_stride, {next, next + share});
      }
    }
  }
}

template <class Codec>
constexpr uint32_t PairTokens() {
  if constexpr (requires { Codec::kPairTokens; }) {
    return Codec::kPairTokens;
  }
  return 0;
}

// Pairs of rows times whole tiles of tokens, then what remains of the rows and of the tokens.
template <class Codec>
void MultiplyPairedBlock(const Codec& codec, const PreparedRows& x, uint32_t begin, uint32_t end,
                         float* y, size_t y_stride) {
  PreparedRows tiled = x;
  tiled.tokens -= x.tokens % Codec::kPairTokens;
  PreparedRows rest = x;
  rest.bytes += tiled.tokens * x.row_bytes;
  rest.tokens -= tiled.tokens;
  const uint32_t paired_end = end - (end - begin) % 2;
  MultiplyPairs(codec, tiled, begin, paired_end, y, y_stride);
  MultiplyBlock(codec, tiled, paired_end, end, y, y_stride);
  MultiplyBlock(codec, rest, begin, end, y + tiled.tokens * y_stride, y_stride);
}

template <class Codec>
void MultiplyRows(const Codec& codec, const PreparedRows& x, uint32_t row_begin, uint32_t row_end,
                  float* y, size_t y_stride) {
  for (uint32_t begin = row_begin; begin < row_end; begin += kRowBlock) {
    const uint32_t end = row_end - begin < kRowBlock ? row_end : begin + kRowBlock;
    if constexpr (PairTokens<Codec>() != 0) {
      if (x.tokens >= Codec::kPairTokens && Codec::PairsRows(x.row_bytes)) {
        MultiplyPairedBlock(codec, x, begin, end, y, y_stride);
        continue;
      }
    }
    MultiplyBlock(codec, x, begin, end, y, y_stride);
  }
}

template <class Codec>
void Multiply(const WeightView& w, const PreparedRows& x, uint32_t row_begin, uint32_t row_end,
              float* y, size_t y_stride) {
  MultiplyRows(Codec(w), x, row_begin, row_end, y, y_stride);
}

// A row prepared for float weights is the f32 row itself.
inline size_t FloatPreparedBytes(Format /*format*/, uint32_t cols) {
  return RoundUpToLine(cols * sizeof(float));
}

inline void FloatPrepare(Format /*format*/, const float* x, uint32_t cols, std::byte* out) {
  if (cols != 0) {
    memcpy(out, x, cols * sizeof(float));
  }
}

}  // namespace
}  // namespace coli
