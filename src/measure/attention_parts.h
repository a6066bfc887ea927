// What attention is measured with: GLM-5.2's shape; weights, activations and cached values that
// mean nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "model/kv_cache.h"
#include "model/model_config.h"
#include "tensor/tensor_view.h"

namespace coli {

// One layer of GLM-5.2's attention and indexer. What follows attention is as small as may be.
ModelConfig Glm52Attention();

void FillNormal(std::span<float> values, std::mt19937_64& generator);

// Fills all positions of all layers, from a prime number of different rows: those that are a power
// of two apart differ.
void FillCache(const ModelConfig& config, std::mt19937_64& generator, KvCache& cache);

// Hands out matrices one after the other, in memory that FillWithCodes has filled and that must
// outlive them. Each takes WeightSet::Stride bytes.
class MatrixSupply {
 public:
  explicit MatrixSupply(std::span<std::byte> memory) : memory_(memory) {}

  // Empty when there is no room left.
  WeightView Next(Format format, uint32_t rows, uint32_t cols);
  size_t used() const { return used_; }  // bytes
  bool full() const { return full_; }    // one has found no room

 private:
  std::span<std::byte> memory_;
  size_t used_ = 0;
  bool full_ = false;
};

}  // namespace coli
