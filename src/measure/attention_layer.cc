#include "measure/attention_layer.h"

#include <algorithm>
#include <utility>

#include "measure/stopwatch.h"
#include "measure/weight_set.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr LayerId kLayer{0};
constexpr Format kMatrices{FormatId::kInt8Row};
constexpr Format kChoosing{FormatId::kF32};

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
  config.indexer = {.heads = 32, .head_dim = 128, .top_k = AttentionLayer::kSelected};
  config.router.experts = config.router.experts_per_token = 1;
  config.layers = {{IndexerKind::kFull, FfnKind::kDense}};
  return config;
}

// Hands out matrices one after the other.
class Matrices {
 public:
  explicit Matrices(std::span<std::byte> memory) : memory_(memory) {}

  // Empty when there is no room left.
  WeightView Next(Format format, uint32_t rows, uint32_t cols) {
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
  size_t used() const { return used_; }
  bool full() const { return full_; }

 private:
  std::span<std::byte> memory_;
  size_t used_ = 0;
  bool full_ = false;
};

AttentionWeights MakeAttention(const ModelConfig& config, Matrices& matrices) {
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

IndexerWeights MakeIndexer(const ModelConfig& config, Matrices& matrices) {
  const IndexerConfig& d = config.indexer;
  return {.wq_b = matrices.Next(kMatrices, d.heads * d.head_dim, config.attention.q_lora_rank),
          .wk = matrices.Next(kMatrices, d.head_dim, config.hidden_size),
          .k_norm = std::vector<float>(d.head_dim, 1.0F),
          .k_norm_bias = std::vector<float>(d.head_dim),
          .weights_proj = matrices.Next(kChoosing, d.heads, config.hidden_size)};
}

void FillNormal(std::span<float> values, std::mt19937_64& generator) {
  std::normal_distribution<float> normal;
  std::ranges::generate(values, [&] { return normal(generator); });
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
  Matrices matrices(memory);
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
  FillCache(generator);
  const Activations& a = activations_.views;
  FillNormal({a.normed.row(0), a.normed.cols}, generator);
  std::fill_n(a.rope_cos.row(0), a.rope_cos.cols, 1.0F);
  std::fill_n(a.rope_sin.row(0), a.rope_sin.cols, 0.0F);
  return Ok();
}

// From a stock of rows that no period of the layout repeats.
void AttentionLayer::FillCache(std::mt19937_64& generator) {
  constexpr size_t kStock = 1021;
  const uint32_t latent = config_.attention.latent_dim();
  const uint32_t key = config_.indexer.head_dim;
  std::vector<float> stock(kStock * (latent + key));
  FillNormal(stock, generator);
  for (uint32_t p = 0; p < positions_; ++p) {
    const float* const row = &stock[p % kStock * (latent + key)];
    cache_.StoreLatent(kLayer, p, row);
    cache_.StoreIndexKey(kLayer, p, row + latent);
  }
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
