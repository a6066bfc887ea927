// Quantised weights of the right statistics at the speed of a copy: a pool of rows is drawn and
// quantised once, and matrices are put together from turned copies of its rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "tensor/format.h"

namespace coli {

// A deterministic mix of two numbers (splitmix64), for choices that may be made in any order.
uint64_t MixSeeds(uint64_t a, uint64_t b);

// Rows of `cols` weights in one format. Half of the pool is Gaussian, half Student's t with five
// degrees of freedom (heavier tails); both of standard deviation `deviation`. A block is what
// shares its scales: one row, in fp8-e4m3-b128 128 of them. A copy is turned by whole scale groups
// (64 columns where there is one scale per row), so that no two rows of a matrix need be alike.
// Thread-compatible.
class RowPool {
 public:
  // Takes about kPoolBytes, or eight blocks where that is more. Errors: those of QuantizeRows.
  static Result<RowPool> Create(Format format, uint32_t cols, float deviation, uint64_t seed);

  static constexpr uint64_t kPoolBytes = uint64_t{2} << 20;

  // Appends the codes of rows [begin, end) of the matrix that `seed` stands for; or the scales of
  // its first `rows` rows.
  void AppendCodes(uint64_t seed, uint32_t begin, uint32_t end, std::vector<std::byte>& out) const;
  void AppendScales(uint64_t seed, uint32_t rows, std::vector<std::byte>& out) const;

  Format format() const { return format_; }
  uint32_t cols() const { return cols_; }

 private:
  RowPool(Format format, uint32_t cols, uint32_t blocks);
  // Where a block of a matrix comes from.
  struct Source {
    uint32_t block;
    uint32_t turn;  // units
  };
  Source SourceOf(uint64_t seed, uint32_t block) const;

  Format format_;
  uint32_t cols_;
  uint32_t block_rows_;
  uint32_t blocks_;
  uint64_t row_bytes_;
  uint64_t scale_bytes_;  // of a block
  uint32_t units_;        // that a row can be turned by; 1: it cannot
  uint64_t unit_bytes_;   // of codes
  uint64_t unit_scales_;  // bytes of scales that go with a unit; 0: one for the row
  std::vector<std::byte> codes_;
  std::vector<std::byte> scales_;
};

}  // namespace coli
