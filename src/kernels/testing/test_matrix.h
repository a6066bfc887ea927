// For tests: random matrices in every number format, and products with them.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "kernels/testing/guarded_buffer.h"
#include "tensor/format.h"
#include "tensor/quantize.h"
#include "tensor/testing/geometries.h"

namespace coli::testing {

inline std::string NameOf(Format format) {
  std::string name(Info(format).name);
  return format.group == 0 ? name : name + "/" + std::to_string(format.group);
}

// Normal values with a few outliers, zeros of both signs and subnormals among them.
inline std::vector<float> SpikyValues(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
    switch (random() % 50) {
      case 0:
        value *= 60;
        break;
      case 1:
        value = 0;
        break;
      case 2:
        value = -0.0F;
        break;
      case 3:
        value = std::copysign(0x1p-140F, value);
        break;
      default:
        break;
    }
  }
  return values;
}

// An encoded random matrix whose last byte and last scale lie in front of unreadable pages.
class TestMatrix {
 public:
  TestMatrix(Format format, uint32_t rows, uint32_t cols, uint32_t seed)
      : format_(format),
        rows_(rows),
        cols_(cols),
        codes_(rows * Info(format).row_bytes(cols)),
        scales_(*ScaleBytes(format, rows, cols)) {
    const std::vector<float> values = SpikyValues(size_t{rows} * cols, seed);
    COLI_CHECK(QuantizeRows({values.data(), rows, cols, cols}, 0, matrix()));
  }

  WeightView view() const { return matrix().view(); }
  std::span<std::byte> codes() const { return codes_.span(); }

  std::vector<float> DecodedRow(uint32_t row) const {
    std::vector<float> values(cols_);
    DecodeRow(view(), row, values.data());
    return values;
  }

 private:
  QuantizedMatrix matrix() const { return {codes_.data(), scales_.data(), rows_, cols_, format_}; }

  Format format_;
  uint32_t rows_;
  uint32_t cols_;
  GuardedBuffer<std::byte> codes_;
  GuardedBuffer<std::byte> scales_;
};

// `tokens` rows of activations, prepared by `kernels`. `x` holds tokens * cols values.
class Prepared {
 public:
  Prepared(const MatrixKernels& kernels, Format format, uint32_t cols, uint32_t tokens,
           const float* x)
      : row_bytes_(kernels.prepared_bytes(format, cols)),
        tokens_(tokens),
        bytes_((row_bytes_ * tokens + sizeof(Line)) / sizeof(Line)) {
    for (uint32_t t = 0; t < tokens; ++t) {
      kernels.prepare(format, x + size_t{t} * cols, cols, start() + t * row_bytes_);
    }
  }

  PreparedRows rows() const { return {start(), row_bytes_, tokens_}; }
  PreparedRows row(uint32_t t) const { return {start() + t * row_bytes_, row_bytes_, 1}; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::byte* start() const { return bytes_.front().bytes; }

  size_t row_bytes_;
  uint32_t tokens_;
  mutable std::vector<Line> bytes_;
};

// y[t][r] with a stride that is larger than the number of rows.
inline std::vector<float> Product(const MatrixKernels& kernels, const WeightView& w,
                                  const std::vector<float>& x, uint32_t tokens) {
  const Prepared prepared(kernels, w.format, w.cols, tokens, x.data());
  std::vector<float> y(size_t{tokens} * (w.rows + 3), 77.0F);
  kernels.multiply(w, prepared.rows(), 0, w.rows, y.data(), w.rows + 3);
  return y;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace coli::testing
