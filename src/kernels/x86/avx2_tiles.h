// The loops over rows and tokens that every product shares. Part of avx2.cc.
//
// A codec describes the products of one format:
//   Codec(w)                                            shapes and pointers of a matrix
//   codec.Row<kTokens>(row, x, x_stride, y, y_stride)   a weight row times kTokens prepared tokens
//   kTileTokens, kTileBytes   tokens that pass a row together, if their prepared rows take at most
//                             this much; else two
#pragma once

#include "kernels/x86/avx2_common.h"

namespace coli {
namespace {

// Rows that stay in the second-level cache while all tokens pass over them.
constexpr uint32_t kRowBlock = 64;

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

template <class Codec>
void MultiplyRows(const Codec& codec, const PreparedRows& x, uint32_t row_begin, uint32_t row_end,
                  float* y, size_t y_stride) {
  for (uint32_t begin = row_begin; begin < row_end; begin += kRowBlock) {
    const uint32_t end = row_end - begin < kRowBlock ? row_end : begin + kRowBlock;
    uint32_t t = 0;
    if (Codec::kTileTokens * x.row_bytes <= Codec::kTileBytes) {
      MultiplyTiles<Codec::kTileTokens>(codec, x, begin, end, t, y, y_stride);
    }
    if constexpr (Codec::kTileTokens > 2) {
      MultiplyTiles<2>(codec, x, begin, end, t, y, y_stride);
    }
    MultiplyTiles<1>(codec, x, begin, end, t, y, y_stride);
  }
}

template <class Codec>
void Multiply(const WeightView& w, const PreparedRows& x, uint32_t row_begin, uint32_t row_end,
              float* y, size_t y_stride) {
  MultiplyRows(Codec(w), x, row_begin, row_end, y, y_stride);
}

}  // namespace
}  // namespace coli
