#include "measure/attention_parts.h"

#include <algorithm>
#include <vector>

#include "measure/weight_set.h"
#include "tensor/format.h"

namespace coli {

ModelConfig Glm52Attention() {
  ModelConfig config{};
  config.hidden_size = 6144;
  config.vocab_size = 1;
  config.dense_intermediate_size = config.expert_intermediate_size = 1;
  config.latent_norm_eps = 1e-5F;
  config.attention = {.heads = 64,
                      .q_lora_rank = 2048,
                      .kv_lora_rank = 512,
                      .qk_nope_head_dim = 192,
                      .qk_rope_head_dim = 64,
                      .v_head_dim = 256,
                      .rope_theta = 8e6F};
  config.indexer = {.heads = 32, .head_dim = 128, .top_k = 2048};
  config.router.experts = config.router.experts_per_token = 1;
  config.layers = {{IndexerKind::kFull, FfnKind::kDense}};
  return config;
}

void FillNormal(std::span<float> values, std::mt19937_64& generator) {
  std::normal_distribution<float> normal;
  std::ranges::generate(values, [&] { return normal(generator); });
}

void FillCache(const ModelConfig& config, std::mt19937_64& generator, KvCache& cache) {
  constexpr size_t kStock = 1021;
  const uint32_t latent = config.attention.latent_dim();
  const uint32_t key = config.indexer.head_dim;
  std::vector<float> stock(kStock * (latent + key));
  FillNormal(stock, generator);
  for (uint32_t layer = 0; layer < config.layers.size(); ++layer) {
    const LayerId id{static_cast<int32_t>(layer)};
    for (uint32_t p = 0; p < cache.capacity(); ++p) {
      const float* const row = &stock[(p + layer) % kStock * (latent + key)];
      cache.StoreLatent(id, p, row);
      cache.StoreIndexKey(id, p, row + latent);
    }
  }
}

WeightView MatrixSupply::Next(Format format, uint32_t rows, uint32_t cols) {
  const MatrixShape shape{rows, cols};
  const size_t bytes = WeightSet::Stride(format, shape);
  if (bytes > memory_.size() - used_) {
    full_ = true;
    return {};
  }
  std::byte* const codes = memory_.data() + used_;
  std::byte* const scales = codes + *CodeBytes(format, rows, cols);
  FillScales(format, shape, scales);
  used_ += bytes;
  return {codes, scales, rows, cols, format};
}

}  // namespace coli
