// The attention of one layer of GLM-5.2's shape: a decoded token from its normed row to what goes
// back to the residual stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "kernels/kernel_table.h"
#include "model/attention_mla.h"
#include "model/indexer.h"
#include "sys/thread_pool.h"

namespace coli {

// The weights, int8 but for those of the indexer that choose, are several layers' that take turns,
// as far as memory allows. One thread at a time.
class AttentionLayer {
 public:
  static constexpr uint32_t kSelected = 2048;  // keys that DSA leaves

  // A sequence of `positions`, the token's own included, in a cache of `kv`. `memory` is for the
  // weights and has been filled by FillWithCodes; kernels, pool and memory must outlive this.
  // Errors: kNotEnoughMemory.
  static Result<std::unique_ptr<AttentionLayer>> Create(const KernelTable& kernels,
                                                        ThreadPool& pool,
                                                        std::span<std::byte> memory,
                                                        uint32_t positions, FormatId kv);
  AttentionLayer(const AttentionLayer&) = delete;
  AttentionLayer& operator=(const AttentionLayer&) = delete;

  // Computes the token; `turn` says with whose weights. Seconds on the wall. Errors: kNumeric.
  Result<double> Token(size_t turn);

  // What a token reads: weights, the indexer's key of each position if there are more of them than
  // are selected, the latents of those selected.
  uint64_t bytes() const;

 private:
  AttentionLayer(const KernelTable& kernels, ThreadPool& pool, uint32_t positions);
  Status Prepare(std::span<std::byte> memory, FormatId kv);

  struct Weights {
    AttentionWeights attention;
    IndexerWeights indexer;
  };

  const uint32_t positions_;
  const ModelConfig config_;
  FormatId kv_ = FormatId::kF32;
  Backend backend_;
  std::vector<Weights> weights_;
  uint64_t weight_bytes_ = 0;  // of one layer
  Batch batch_;
  KvCache cache_;
  ActivationMemory activations_;
  SelectionMemory selection_;
  AttentionScratch attention_scratch_;
  IndexerScratch indexer_scratch_;
};

}  // namespace coli
