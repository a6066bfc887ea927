// Executes coarse blocks of arithmetic on this machine: products of activations with weights,
// spread over the compute pool.
//
// The results depend on the numerics contract only, never on threads or on how the work was cut.
// Engine thread only.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

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

// How much of a network is computed: all of it, or one of the halves that meet at the inner values
// silu(gate x) * up x, for weights that arrive in this order.
enum class FfnStage : uint8_t { kWhole, kGateUp, kDown };

// One SwiGLU network and the rows that go through it.
struct FfnTask {
  const FfnView* w;
  std::span<const float* const> x;  // rows of w->gate.cols values, which may lie anywhere
  MatrixView y;                     // [x.size(), w->down.rows]
  FfnStage stage = FfnStage::kWhole;
  // [x.size(), w->gate.rows]: where the inner values stay between the halves; unused for kWhole.
  MatrixView inner{};
};

// What a backend has working memory for.
struct BackendRoom {
  uint32_t rows = 0;        // that are prepared at a time; larger inputs go in several passes
  uint32_t input_cols = 0;  // of the widest input of a product
  uint32_t inner_cols = 0;  // between the products of the widest feed-forward network
};

class Backend {
 public:
  // `kernels` and `pool` must outlive the backend.
  Backend(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // Makes room; later calls within it take no memory.
  Status Reserve(const BackendRoom& room);
  // Bytes that Reserve takes; for the memory plan.
  static uint64_t ScratchBytes(const BackendRoom& room);
  // Upper bound of what a prepared row of `cols` columns takes, whatever its format.
  static size_t PreparedBound(uint32_t cols);

  // Every product reads the same x: [rows, in], any number of rows.
  void MatMul(ConstMatrixView x, std::span<const Product> products);
  void MatMul(ConstMatrixView x, const WeightView& w, MatrixView y);

  // y = down(silu(gate x) * up x) for every task, or a half of it. All tasks together take four
  // parallel loops for every room.rows of their rows: threads meet as often for nine networks as
  // for one.
  void Ffn(std::span<const FfnTask> tasks);
  // One network. x: [rows, hidden], any number of rows.
  void Ffn(const FfnView& w, ConstMatrixView x, MatrixView y);

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
  // Rows that are computed in one pass.
  uint32_t pass_rows() const { return room_.rows; }

 private:
  static constexpr size_t kMaxFormats = 3;  // distinct formats among the products of one call

  // Rows prepared for the matrices of one format, or the place for them.
  struct Prepared {
    Format format{FormatId::kF32};
    std::byte* bytes = nullptr;
    size_t row_bytes = 0;
    uint32_t rows = 0;
  };
  // The rows of one task that are computed in this pass, and where their intermediate values are.
  struct FfnPart {
    const FfnView* w;
    const float* const* x;  // [rows]
    MatrixView y;           // [rows, hidden]
    FfnStage stage;
    MatrixView gate;  // [rows, inner]; silu(gate x) * up x in the end
    MatrixView up;    // [rows, inner]
    Prepared gate_in;
    Prepared up_in;
    Prepared down_in;
  };

  // The place for `rows` prepared rows for w, `used` bytes into a scratch buffer; adds to `used`.
  Prepared Place(const WeightView& w, uint32_t rows, size_t slot, size_t& used);
  void PrepareRow(const float* x, const Prepared& place, uint32_t cols, size_t row);
  void MatMulPass(ConstMatrixView x, std::span<const Product> products, uint32_t first_row);
  void Multiply(const WeightView& w, const Prepared& x, uint32_t begin, uint32_t end, MatrixView y);
  // Rows of the part that go through this half; 0 where its task does not ask for it.
  static uint32_t RowsOf(const FfnPart& part, FfnStage half) {
    return part.stage == FfnStage::kWhole || part.stage == half ? part.y.rows : 0;
  }
  void AddPart(const FfnTask& task, uint32_t first_row, uint32_t rows);
  void RunParts();
  void PlaceParts();
  void PrepareInputs();
  void MultiplyGateAndUp();
  void PrepareInner();
  void MultiplyDown();
  // body(item, begin, end) for ranges that together cover [0, size(item)) of every item, in one
  // parallel loop: activations, or rows of weights.
  enum class Split : uint8_t { kRows, kWeights };
  template <class Item, class Size, class Body>
  void ForAll(std::span<const Item> items, Split split, const Size& size, const Body& body);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  BackendRoom room_;
  std::array<AlignedBuffer, kMaxFormats> scratch_;
  AlignedBuffer inner_;
  std::vector<FfnPart> parts_;      // of this pass
  std::vector<const float*> rows_;  // of the input of a single network
};

}  // namespace coli
