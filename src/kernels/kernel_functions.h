// The arithmetic of the engine as functions that every instruction set implements.
//
// Every function is defined by the numerics contract (docs/numerics.md) to the last bit: all
// implementations give the same results. Kernels are pure: no allocation, no threads, no knowledge
// of models. The caller splits work over rows and threads. No kernel reads outside the bytes that
// its arguments describe.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tensor/tensor_view.h"

namespace coli {

// `tokens` activation rows, prepared for weights of one geometry (format, group, cols) by the same
// MatrixKernels that will multiply them: the layout is theirs.
struct PreparedRows {
  const std::byte* bytes = nullptr;
  size_t row_bytes = 0;  // from MatrixKernels::prepared_bytes
  uint32_t tokens = 0;
};

// Products with weights of one number format.
struct MatrixKernels {
  // Bytes that one prepared activation row of `cols` columns takes; a multiple of 64.
  size_t (*prepared_bytes)(Format format, uint32_t cols) = nullptr;
  // Quantises or lays out one activation row. `out` is 64-byte aligned. A value of `x` that is not
  // finite makes every product of an integer format NaN; float formats follow IEEE 754.
  void (*prepare)(Format format, const float* x, uint32_t cols, std::byte* out) = nullptr;
  // y[t * y_stride + r] = W[r] . x[t] for r in [row_begin, row_end) and every prepared token t.
  // `y` is indexed by the absolute row r.
  void (*multiply)(const WeightView& w, const PreparedRows& x, uint32_t row_begin, uint32_t row_end,
                   float* y, size_t y_stride) = nullptr;
  // y[c] = sum over rows r ascending of fma(x[r] * scale, code[r][c], y[c]), y starting at 0: the
  // product with the transposed matrix, in f32. x: [w.rows]; y: [w.cols].
  void (*multiply_transposed)(const WeightView& w, const float* x, float* y) = nullptr;
};

// `count` rows of f32, `stride` values from one to the next.
struct FloatRows {
  const float* values = nullptr;
  size_t stride = 0;
  size_t count = 0;
};

// Pointers to `count` vectors of f32 that lie anywhere.
struct FloatVectors {
  const float* const* vectors = nullptr;
  size_t count = 0;
};

// Functions on f32 vectors. Reductions use a fixed number of virtual lanes and a fixed tree.
struct VectorKernels {
  float (*dot)(const float* a, const float* b, size_t n);         // 16 virtual lanes
  void (*axpy)(float scale, const float* x, float* y, size_t n);  // y = fma(scale, x, y)
  void (*add)(const float* x, float* y, size_t n);                // y += x
  void (*scale)(float factor, float* y, size_t n);                // y *= factor
  // y = w * (x * r), r = 1 / sqrt(mean(x^2) + eps) in f64, rounded to f32. y may be x. n > 0.
  void (*rms_norm)(const float* x, const float* w, float eps, float* y, size_t n);
  // y = fma(w, (x - mean) / sqrt(var + eps), b); biased variance; all but the fma in f64. y may be
  // x. n > 0.
  void (*layer_norm)(const float* x, const float* w, const float* b, float eps, float* y, size_t n);
  void (*silu_mul)(const float* gate, const float* up, float* y,
                   size_t n);                           // y = silu(gate) * up; y may be either
  void (*sigmoid)(const float* x, float* y, size_t n);  // y may be x
  // x becomes exp(x - max x) / sum; the sum in f64. n > 0, not all of x -infinity.
  void (*softmax)(float* x, size_t n);
  // Rotates the pairs (2j, 2j+1): x has 2 * pairs values, cos and sin `pairs` each.
  void (*rotate_pairs)(const float* cos, const float* sin, float* x, size_t pairs);
  // out[r * out_stride + k] = dot(row r of a, vector k of b, n), for all pairs.
  void (*dots)(const FloatRows& a, const FloatVectors& b, size_t n, float* out, size_t out_stride);
  // axpy(factors[r][k], vector k of x, y + r * y_stride, n) for every row r of `factors` and its
  // values k ascending: a factor for every vector.
  void (*axpys)(const FloatRows& factors, const FloatVectors& x, size_t n, float* y,
                size_t y_stride);
};

// What one instruction set implements itself. Where it has nullptr, the kernels that it builds on
// are taken: a `multiply` of its own then reads the rows that their `prepare` has laid out.
struct IsaKernels {
  const IsaKernels& (*base)() = nullptr;    // nullptr if nothing is missing
  MatrixKernels matrix[kFormatCount] = {};  // by FormatId
  const VectorKernels* vector = nullptr;
};

}  // namespace coli
