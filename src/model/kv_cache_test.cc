#include "model/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "kernels/dispatch.h"
#include "model/attention_mla.h"
#include "model/indexer.h"
#include "tensor/half.h"

namespace coli {
namespace {

constexpr LayerId kLayer{0};

// No size is a multiple of a register's.
ModelConfig Config() {
  ModelConfig config{};
  config.hidden_size = 37;
  config.vocab_size = 5;
  config.dense_intermediate_size = config.expert_intermediate_size = 8;
  config.rms_norm_eps = config.latent_norm_eps = 1e-6F;
  config.attention = {.heads = 5,
                      .q_lora_rank = 21,
                      .kv_lora_rank = 43,
                      .qk_nope_head_dim = 11,
                      .qk_rope_head_dim = 6,
                      .v_head_dim = 13,
                      .rope_theta = 1e4F};
  config.indexer = {.heads = 3, .head_dim = 19, .top_k = 7};
  config.router.experts = config.router.experts_per_token = 1;
  config.layers.assign(1, {IndexerKind::kFull, FfnKind::kDense});
  return config;
}

KvCache Cache(uint32_t positions, FormatId format) {
  return *KvCache::Create(Config(), {.capacity = positions, .format = format});
}

std::vector<float> Normal(size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

void Round(const float* values, size_t count, std::vector<float>& rounded) {
  rounded.resize(count);
  std::transform(values, values + count, rounded.begin(),
                 [](float x) { return FloatFromBf16(Bf16FromFloat(x)); });
}

// One layer's attention, and the weights that its views point into.
class AttentionLayer {
 public:
  AttentionLayer(const ModelConfig& config, const KernelTable& kernels, size_t threads)
      : config_(config), pool_(threads), backend_(kernels, pool_) {
    const AttentionConfig& d = config_.attention;
    const IndexerConfig& i = config_.indexer;
    weights_.q_a = Matrix(d.q_lora_rank, config_.hidden_size);
    weights_.q_a_norm = Normal(d.q_lora_rank, random_);
    weights_.q_b = Matrix(d.heads * d.qk_head_dim(), d.q_lora_rank);
    weights_.kv_a = Matrix(d.latent_dim(), config_.hidden_size);
    weights_.kv_a_norm = Normal(d.kv_lora_rank, random_);
    weights_.kv_b = Matrix(d.heads * (d.qk_nope_head_dim + d.v_head_dim), d.kv_lora_rank);
    weights_.o = Matrix(config_.hidden_size, d.heads * d.v_head_dim);
    indexer_weights_.wq_b = Matrix(i.heads * i.head_dim, d.q_lora_rank);
    indexer_weights_.wk = Matrix(i.head_dim, config_.hidden_size);
    indexer_weights_.k_norm = Normal(i.head_dim, random_);
    indexer_weights_.k_norm_bias = Normal(i.head_dim, random_);
    indexer_weights_.weights_proj = Matrix(i.heads, config_.hidden_size);
    EXPECT_TRUE(backend_.Reserve(BackendRoomFor(config_)));
  }

  // The outputs of `positions` rows that come in steps of `chunk`, [positions, H]. If `round`, what
  // they store is rounded to bf16 before anything reads it.
  std::vector<float> Run(KvCache& cache, uint32_t positions, uint32_t chunk, bool explicit_form,
                         bool round) {
    const uint32_t hidden = config_.hidden_size;
    std::mt19937 random(7);
    const std::vector<float> inputs = Normal(size_t{positions} * hidden, random);
    const std::vector<float> angles = Normal(size_t{positions} * 2, random);
    auto activations = *ActivationMemory::Create(config_, chunk, 1);
    SelectionMemory selection(chunk, config_.indexer.top_k);
    auto scratch = *AttentionScratch::Create(config_, pool_.threads(), positions);
    IndexerScratch indexer_scratch(config_, pool_.threads(), positions);
    const LatentAttention attention(config_, weights_, kLayer, backend_);
    const Indexer indexer(config_, indexer_weights_, kLayer, backend_);
    std::vector<float> outputs;
    for (uint32_t first = 0; first < positions; first += chunk) {
      Batch batch;
      batch.caches = {&cache};
      for (uint32_t p = first; p < std::min(first + chunk, positions); ++p) {
        batch.rows.push_back({.position = p});
      }
      Step step(batch, activations.views, selection.view());
      for (uint32_t r = 0; r < step.rows(); ++r) {
        std::copy_n(&inputs[(first + r) * size_t{hidden}], hidden, step.a.normed.row(r));
        for (uint32_t i = 0; i < step.a.rope_cos.cols; ++i) {
          step.a.rope_cos.row(r)[i] = angles[2 * (first + r)];
          step.a.rope_sin.row(r)[i] = angles[2 * (first + r) + 1];
        }
      }
      attention.Project(step);
      indexer.Project(step);
      for (uint32_t r = 0; round && r < step.rows(); ++r) {
        RoundRow(cache, step.row(r).position);
      }
      EXPECT_TRUE(indexer.Select(step, indexer_scratch));
      attention.Attend(step, scratch, explicit_form);
      for (uint32_t r = 0; r < step.rows(); ++r) {
        outputs.insert(outputs.end(), step.a.mixed.row(r), step.a.mixed.row(r) + hidden);
      }
    }
    return outputs;
  }

 private:
  WeightView Matrix(uint32_t rows, uint32_t cols) {
    matrices_.push_back(Normal(size_t{rows} * cols, random_));
    return {reinterpret_cast<const std::byte*>(matrices_.back().data()), nullptr, rows, cols,
            Format{FormatId::kF32}};
  }
  void RoundRow(KvCache& cache, uint32_t row) const {
    std::vector<float> rounded;
    Round(cache.latent(kLayer, row, nullptr), config_.attention.latent_dim(), rounded);
    cache.StoreLatent(kLayer, row, rounded.data());
    Round(cache.index_key(kLayer, row, nullptr), config_.indexer.head_dim, rounded);
    cache.StoreIndexKey(kLayer, row, rounded.data());
  }

  const ModelConfig& config_;
  ThreadPool pool_;
  Backend backend_;
  std::mt19937 random_{1};
  std::vector<std::vector<float>> matrices_;
  AttentionWeights weights_;
  IndexerWeights indexer_weights_;
};

TEST(KvCache, Bf16RoundsToNearestEvenAndF32KeepsEveryBit) {
  const ModelConfig config = Config();
  std::vector<float> values(config.attention.latent_dim());
  // Above, at and below the middle between two neighbours; the tie goes to the even one.
  const uint32_t bits[] = {0x3f808001, 0x3f808000, 0x3f807fff, 0x3f818000, 0xbf818000, 0x80000001};
  const uint32_t rounded[] = {0x3f810000, 0x3f800000, 0x3f800000,
                              0x3f820000, 0xbf820000, 0x80000000};
  for (size_t i = 0; i < std::size(bits); ++i) {
    values[i] = std::bit_cast<float>(bits[i]);
  }
  std::vector<float> widened(values.size(), -1);
  KvCache exact = Cache(3, FormatId::kF32);
  KvCache narrow = Cache(3, FormatId::kBf16);

  exact.StoreLatent(kLayer, 2, values.data());
  narrow.StoreLatent(kLayer, 2, values.data());

  EXPECT_TRUE(std::equal(values.begin(), values.end(), exact.latent(kLayer, 2, nullptr)));
  const float* const read = narrow.latent(kLayer, 2, widened.data());
  EXPECT_EQ(read, widened.data());
  for (size_t i = 0; i < std::size(bits); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(read[i]), rounded[i]) << i;
  }
}

TEST(KvCache, RowsOfAllKindsLieApart) {
  for (const FormatId format : {FormatId::kF32, FormatId::kBf16}) {
    const ModelConfig config = Config();
    const uint32_t latent = config.attention.latent_dim();
    const uint32_t key = config.indexer.head_dim;
    KvCache cache = Cache(4, format);
    for (uint32_t row = 0; row < 4; ++row) {
      const auto value = static_cast<float>(row);
      cache.StoreLatent(kLayer, row, std::vector<float>(latent, value).data());
      cache.StoreIndexKey(kLayer, row, std::vector<float>(key, -value).data());
    }
    std::vector<float> widened(latent);
    for (uint32_t row = 0; row < 4; ++row) {
      const auto value = static_cast<float>(row);
      const float* read = cache.latent(kLayer, row, widened.data());
      EXPECT_EQ(std::count(read, read + latent, value), latent);
      read = cache.index_key(kLayer, row, widened.data());
      EXPECT_EQ(std::count(read, read + key, -value), key);
    }
  }
}

TEST(KvCache, BytesAreThoseOfTheFormat) {
  const ModelConfig config = Config();
  const uint64_t values = config.attention.latent_dim() + config.indexer.head_dim;

  EXPECT_EQ(KvCache::Bytes(config, {.capacity = 10}), 10 * values * 4);
  EXPECT_EQ(KvCache::Bytes(config, {.capacity = 10, .format = FormatId::kBf16}), 10 * values * 2);
}

// Selection included: positions from the eighth on attend to seven keys.
TEST(KvCache, AttentionOverBf16EqualsAttentionOverRoundedF32) {
  constexpr uint32_t kPositions = 40;
  const ModelConfig config = Config();
  for (const KernelTable* kernels : AvailableKernels()) {
    for (const bool explicit_form : {false, true}) {
      for (const uint32_t chunk : {1U, 16U, kPositions}) {
        AttentionLayer layer(config, *kernels, chunk == 1 ? 1 : 3);
        KvCache f32 = Cache(kPositions, FormatId::kF32);
        KvCache rounded = Cache(kPositions, FormatId::kF32);
        KvCache bf16 = Cache(kPositions, FormatId::kBf16);

        const auto exact = layer.Run(f32, kPositions, chunk, explicit_form, false);
        const auto expected = layer.Run(rounded, kPositions, chunk, explicit_form, true);
        const auto found = layer.Run(bf16, kPositions, chunk, explicit_form, false);

        EXPECT_EQ(found, expected) << kernels->name << ", " << explicit_form << ", " << chunk;
        EXPECT_NE(found, exact);
      }
    }
  }
}

TEST(KvCache, AttentionOverBf16IsTheSameForEveryChunkInstructionSetAndNumberOfThreads) {
  constexpr uint32_t kPositions = 40;
  const ModelConfig config = Config();
  std::vector<float> expected;
  for (const KernelTable* kernels : AvailableKernels()) {
    for (const size_t threads : {size_t{1}, size_t{4}}) {
      for (const uint32_t chunk : {1U, 3U, kPositions}) {
        AttentionLayer layer(config, *kernels, threads);
        KvCache cache = Cache(kPositions, FormatId::kBf16);
        const auto found = layer.Run(cache, kPositions, chunk, false, false);
        if (expected.empty()) {
          expected = found;
        }
        EXPECT_EQ(found, expected) << kernels->name << ", " << threads << ", " << chunk;
      }
    }
  }
}

}  // namespace
}  // namespace coli
