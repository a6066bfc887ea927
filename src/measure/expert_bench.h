// The experts of one layer of GLM-5.2's shape, resident: the time they take, and what it is
// compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "kernels/kernel_table.h"
#include "sys/aligned_buffer.h"
#include "sys/thread_pool.h"
#include "tensor/tensor_view.h"

namespace coli {

// One thread at a time. All times are seconds on the wall.
class ExpertBench {
 public:
  static constexpr uint32_t kHidden = 6144;
  static constexpr uint32_t kInner = 2048;
  static constexpr uint32_t kExperts = 9;  // eight routed ones and the shared one
  static constexpr Format kFormat{FormatId::kInt4Row};

  // As many layers as fit into `memory`, which FillWithCodes has filled. Kernels, pool and memory
  // must outlive this. Error: kNotEnoughMemory.
  static Result<ExpertBench> Create(const KernelTable& kernels, ThreadPool& pool,
                                    std::span<std::byte> memory, uint32_t max_rows);

  static size_t layer_bytes() { return kExperts * expert_bytes(); }
  // Multiply-adds of a row with all experts of a layer.
  static constexpr double layer_products() { return 3.0 * kHidden * kInner * kExperts; }
  size_t layers() const { return views_.size() / kExperts; }

  // `rows` (at most max_rows) rows through all experts of a layer. Layer numbers wrap around.
  double Together(size_t layer, uint32_t rows);
  // The same, each expert alone.
  double OneByOne(size_t layer, uint32_t rows);
  // The products alone: each thread takes some rows of one matrix, of inputs that are prepared
  // already.
  double Products(size_t layer, uint32_t rows);
  // Plainly reading the bytes of a layer, in the same threads.
  double Read(size_t layer);

 private:
  ExpertBench(const KernelTable& kernels, ThreadPool& pool, std::span<std::byte> memory);
  static size_t expert_bytes();
  Status Prepare(uint32_t max_rows);
  void PlaceExperts();
  std::vector<FfnTask> Tasks(size_t layer, uint32_t rows);
  void Multiply(const WeightView& w, const AlignedBuffer& input, MatrixView y);

  const MatrixKernels* kernels_;
  ThreadPool* pool_;
  std::span<std::byte> memory_;
  std::unique_ptr<Backend> backend_;
  std::vector<FfnView> views_;  // [layers, kExperts]
  std::vector<float> x_;        // [max_rows, kHidden]
  std::vector<float> y_;        // [kExperts, max_rows, kHidden]
  std::vector<const float*> inputs_;
  AlignedBuffer prepared_hidden_;  // [max_rows] of kHidden columns
  AlignedBuffer prepared_inner_;   // and of kInner columns
};

}  // namespace coli
