// Executes coarse blocks of arithmetic on this machine: products of activations with weights,
// spread over the compute pool.
//
// The results depend on the numerics contract only, never on threads or on how the work was cut.
// Engine thread only.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/result.h"
#include "kernels/kernel_table.h"
#include "sys/aligned_buffer.h"
#include "sys/thread_pool.h"
#include "tensor/tensor_view.h"

namespace coli {

// One product of a MatMul: y = w x.
struct Product {
  WeightView w;  // [out, in]
  MatrixView y;  // [rows, out]
};

class Backend {
 public:
  // `kernels` and `pool` must outlive the backend.
  Backend(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // Makes room for products of up to `rows` rows of `cols` columns; later calls within these bounds
  // take no memory.
  Status Reserve(uint32_t rows, uint32_t cols);
  // Bytes that Reserve takes; for the memory plan.
  static uint64_t ScratchBytes(uint32_t rows, uint32_t cols);

  // Every product reads the same x: [rows, in].
  void MatMul(ConstMatrixView x, std::span<const Product> products);
  void MatMul(ConstMatrixView x, const WeightView& w, MatrixView y);

  // y = down(silu(gate x) * up x). x: [rows, hidden]; inner: scratch of 2 * rows rows of
  // w.gate.rows columns.
  void Ffn(const FfnView& w, ConstMatrixView x, MatrixView inner, MatrixView y);

  // body(row) for every row, in parallel.
  template <class Body>
  void ForRows(size_t rows, const Body& body) {
    pool_.ParallelFor(rows, 1, [&](size_t begin, size_t end, size_t) {
      for (size_t r = begin; r < end; ++r) {
        body(r);
      }
    });
  }

  const KernelTable& kernels() const { return kernels_; }
  const VectorKernels& vector() const { return kernels_.vector; }
  ThreadPool& pool() { return pool_; }

 private:
  // Rows prepared for one weight format.
  struct Prepared {
    Format format{FormatId::kF32};
    PreparedRows rows;
  };
  static constexpr size_t kMaxFormats = 3;  // distinct formats among the products of one call

  Prepared Prepare(ConstMatrixView x, Format format, size_t slot);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  std::array<AlignedBuffer, kMaxFormats> scratch_;
};

}  // namespace coli
