#include "measure/attention_layer.h"

#include <algorithm>
#include <utility>

#include "measure/attention_parts.h"
#include "measure/stopwatch.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr LayerId kLayer{0};
constexpr Format kMatrices{FormatId::kInt8Row};
constexpr Format kChoosing{FormatId::kF32};

AttentionWeights MakeAttention(const ModelConfig& config, MatrixSupply& matrices) {
  const AttentionConfig& d = config.attention;
  const auto next = [&](uint32_t rows, uint32_t cols) {
    return matrices.Next(kMatrices, rows, cols);
  };
  return {.q_a = next(d.q_lora_rank, config.hidden_size),
          .q_a_norm = std::vector<float>(d.q_lora_rank, 1.0F),
          .q_b = next(d.heads * d.qk_head_dim(), d.q_lora_rank),
          .kv_a = next(d.latent_dim(), config.hidden_size),
          .kv_a_norm = std::vector<float>(d.kv_lora_rank, 1.0F),
          .kv_b = next(d.heads * (d.qk_nope_head_dim + d.v_head_dim), d.kv_lora_rank),
          .o = next(config.hidden_size, d.heads * d.v_head_dim)};
}

IndexerWeights MakeIndexer(const ModelConfig& config, MatrixSupply& matrices) {
  const IndexerConfig& d = config.indexer;
  return {.wq_b = matrices.Next(kMatrices, d.heads * d.head_dim, config.attention.q_lora_rank),
          .wk = matrices.Next(kMatrices, d.head_dim, config.hidden_size),
          .k_norm = std::vector<float>(d.head_dim, 1.0F),
          .k_norm_bias = std::vector<float>(d.head_dim),
          .weights_proj = matrices.Next(kChoosing, d.heads, config.hidden_size)};
}

}  // namespace

AttentionLayer::AttentionLayer(const KernelTable& kernels, ThreadPool& pool, uint32_t positions)
    : positions_(positions),
      config_(Glm52Attention()),
      backend_(kernels, pool),
      selection_(1, kSelected),
      indexer_scratch_(config_, pool.threads(), positions) {
  batch_.rows.push_back({.position = positions - 1});
}

Result<std::unique_ptr<AttentionLayer>> AttentionLayer::Create(const KernelTable& kernels,
                                                               ThreadPool& pool,
                                                               std::span<std::byte> memory,
                                                               uint32_t positions, FormatId kv) {
  std::unique_ptr<AttentionLayer> layer(new AttentionLayer(kernels, pool, positions));
  COLI_RETURN_IF_ERROR(layer->Prepare(memory, kv));
  return layer;
}

Status AttentionLayer::Prepare(std::span<std::byte> memory, FormatId kv) {
  kv_ = kv;
  COLI_RETURN_IF_ERROR(backend_.Reserve(BackendRoomFor(config_)));
  COLI_ASSIGN_OR_RETURN(cache_, KvCache::Create(config_, {.capacity = positions_, .format = kv}));
  COLI_ASSIGN_OR_RETURN(activations_, ActivationMemory::Create(config_, 1, 1));
  COLI_ASSIGN_OR_RETURN(attention_scratch_,
                        AttentionScratch::Create(config_, backend_.pool().threads(), positions_));
  MatrixSupply matrices(memory);
  while (true) {
    Weights weights{MakeAttention(config_, matrices), MakeIndexer(config_, matrices)};
    if (matrices.full()) {
      break;
    }
    weights_.push_back(std::move(weights));
    weight_bytes_ = matrices.used() / weights_.size();
  }
  if (weights_.empty()) {
    return Fail(ErrorCode::kNotEnoughMemory, "the weights of attention do not fit {} bytes",
                memory.size());
  }
  batch_.caches = {&cache_};
  std::mt19937_64 generator(1);
  FillCache(config_, generator, cache_);
  const Activations& a = activations_.views;
  FillNormal({a.normed.row(0), a.normed.cols}, generator);
  std::fill_n(a.rope_cos.row(0), a.rope_cos.cols, 1.0F);
  std::fill_n(a.rope_sin.row(0), a.rope_sin.cols, 0.0F);
  return Ok();
}

Result<double> AttentionLayer::Token(size_t turn) {
  const Weights& w = weights_[turn % weights_.size()];
  const LatentAttention attention(config_, w.attention, kLayer, backend_);
  const Indexer indexer(config_, w.indexer, kLayer, backend_);
  Step step(batch_, activations_.views, selection_.view());
  const double begin = WallSeconds();
  attention.Project(step);
  indexer.Project(step);
  COLI_RETURN_IF_ERROR(indexer.Select(step, indexer_scratch_));
  attention.Attend(step, attention_scratch_, false);
  return WallSeconds() - begin;
}

uint64_t AttentionLayer::bytes() const {
  const FormatInfo& kv = Info(kv_);
  const uint64_t keys = positions_ > kSelected ? positions_ : 0;  // otherwise nothing to choose
  return weight_bytes_ + keys * kv.row_bytes(config_.indexer.head_dim) +
         std::min(positions_, kSelected) * kv.row_bytes(config_.attention.latent_dim());
}

}  // namespace coli
