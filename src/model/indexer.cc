#include "model/indexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace coli {
namespace {

// LayerNorm epsilon of the indexer's keys: a constant of the architecture, whatever rms_norm_eps
// says.
constexpr float kKeyNormEps = 1e-6F;
// Keys scored by a thread at a time.
constexpr size_t kKeyGrain = 240;
// Keys that all heads use together; kKeyGrain is a multiple.
constexpr size_t kKeyBlock = 24;
// Heads whose products are kept at a time.
constexpr uint32_t kHeadBlock = 32;

// x[i] becomes max(0, x[i] * scale).
void ScalePositive(float scale, std::span<float, kKeyBlock> x) {
  for (size_t i = 0; i < kKeyBlock; ++i) {  // a known length: the loop has no branches
    const float scaled = x[i] * scale;
    x[i] = scaled < 0.0F ? 0.0F : scaled;  // not std::max: it would hide a NaN
  }
}

// The order of scores as an order of integers: NaN is minus infinity, both zeros are one.
uint32_t Rank(float score) {
  const float ordered = std::isnan(score) ? -std::numeric_limits<float>::infinity() : score + 0.0F;
  const auto bits = std::bit_cast<uint32_t>(ordered);
  return (bits >> 31U) != 0 ? ~bits : bits | 0x80000000U;
}

// The rank of the last score to be selected, and how many scores of just that rank are.
struct Cut {
  uint32_t rank;
  uint32_t ties;
};

// The `count` best: digit by digit, the highest first, a histogram of the scores that agree with
// the cut so far tells its next digit. 0 < count <= scores.size().
Cut FindCut(std::span<const float> scores, uint32_t count) {
  constexpr uint32_t kDigitBits = 8;
  Cut cut{.rank = 0, .ties = count};
  for (uint32_t shift = 32; shift > 0; shift -= kDigitBits) {
    const uint32_t low = shift - kDigitBits;
    std::array<uint32_t, 1U << kDigitBits> histogram{};
    for (const float score : scores) {
      const uint32_t rank = Rank(score);
      if ((uint64_t{rank} >> shift) == (uint64_t{cut.rank} >> shift)) {
        ++histogram[(rank >> low) & 0xffU];
      }
    }
    uint32_t digit = 0xff;
    while (cut.ties > histogram[digit]) {
      cut.ties -= histogram[digit--];
    }
    cut.rank |= digit << low;
  }
  return cut;
}

}  // namespace

IndexerScratch::IndexerScratch(const ModelConfig& config, size_t workers, uint32_t context)
    : scores_(context),
      keys_(workers * kKeyBlock * config.indexer.head_dim),
      worker_floats_(kKeyBlock * config.indexer.head_dim) {}

uint64_t IndexerScratch::Bytes(const ModelConfig& config, size_t workers, uint32_t context) {
  return (context + workers * kKeyBlock * config.indexer.head_dim) * sizeof(float);
}

std::span<float> IndexerScratch::worker_keys(size_t worker) {
  return std::span(keys_).subspan(worker * worker_floats_, worker_floats_);
}

Indexer::Indexer(const ModelConfig& config, const IndexerWeights& weights, LayerId layer,
                 Backend& backend)
    : config_(config), w_(weights), layer_(layer), backend_(backend) {}

void Indexer::Project(Step& step) const {
  const Activations& a = step.a;
  const std::array<Product, 2> from_normed{Product{w_.wk, step.Of(a.index_k)},
                                           Product{w_.weights_proj, step.Of(a.index_weights)}};
  backend_.MatMul(step.Of(a.normed), from_normed);
  backend_.MatMul(step.Of(a.q_latent), w_.wq_b, step.Of(a.index_q));
  AppendKeys(step);
}

void Indexer::AppendKeys(Step& step) const {
  const Activations& a = step.a;
  const uint32_t dim = config_.indexer.head_dim;
  const VectorKernels& v = backend_.vector();
  backend_.ForRows(step.rows(), [&](size_t r) {
    const auto rotate = [&](float* x) {
      v.rotate_pairs(a.rope_cos.row(r), a.rope_sin.row(r), x, a.rope_cos.cols);
    };
    float* const key = a.index_k.row(r);
    v.layer_norm(key, w_.k_norm.data(), w_.k_norm_bias.data(), kKeyNormEps, key, dim);
    rotate(key);
    step.cache(r).StoreIndexKey(layer_, step.row(r).position, key);
    for (uint32_t h = 0; h < config_.indexer.heads; ++h) {
      rotate(a.index_q.row(r) + size_t{h} * dim);
    }
  });
}

Status Indexer::Select(Step& step, IndexerScratch& scratch) const {
  for (size_t r = 0; r < step.rows(); ++r) {
    if (step.row(r).position + 1 <= config_.indexer.top_k) {
      step.selection.SelectAll(r);
    } else {
      COLI_RETURN_IF_ERROR(SelectRow(step, r, scratch));
    }
  }
  return Ok();
}

Status Indexer::SelectRow(Step& step, size_t r, IndexerScratch& scratch) const {
  const std::span<float> scores = scratch.scores().first(step.row(r).position + size_t{1});
  backend_.pool().ParallelFor(
      scores.size(), kKeyGrain, [&](size_t begin, size_t end, size_t worker) {
        for (size_t first = begin; first < end; first += kKeyBlock) {
          ScoreKeys(step, r, first, scratch.worker_keys(worker),
                    scores.subspan(first, std::min(kKeyBlock, end - first)));
        }
      });
  if (!std::ranges::all_of(scores, [](float score) { return std::isfinite(score); })) {
    return Fail(
        ErrorCode::kNumeric,
        "layer {}, position {}: a score of the indexer is not finite; are the weights damaged?",
        Raw(layer_), step.row(r).position);
  }
  const uint32_t count = config_.indexer.top_k;
  SelectTopK(scores, count, step.selection.SelectSome(r, count));
  return Ok();
}

// From the products of every head with every key.
void Indexer::ScoreKeys(const Step& step, size_t r, size_t first, std::span<float> widened,
                        std::span<float> scores) const {
  const uint32_t heads = config_.indexer.heads;
  const uint32_t dim = config_.indexer.head_dim;
  const float head_scale = 1.0F / std::sqrt(static_cast<float>(heads));
  const float dim_scale = 1.0F / std::sqrt(static_cast<float>(dim));
  const float* const q = step.a.index_q.row(r);
  const float* const weights = step.a.index_weights.row(r);
  const VectorKernels& v = backend_.vector();
  std::array<const float*, kKeyBlock> keys;
  for (size_t i = 0; i < scores.size(); ++i) {
    keys[i] = step.cache(r).index_key(layer_, static_cast<uint32_t>(first + i), &widened[i * dim]);
  }
  std::array<float, kHeadBlock * kKeyBlock> dots{};  // a row for each head, 0 after the last key
  std::ranges::fill(scores, 0.0F);
  for (uint32_t h = 0; h < heads; h += kHeadBlock) {
    const uint32_t together = std::min(kHeadBlock, heads - h);
    v.dots({q + size_t{h} * dim, dim, together}, {keys.data(), scores.size()}, dim, dots.data(),
           kKeyBlock);
    for (uint32_t i = 0; i < together; ++i) {
      const std::span<float, kKeyBlock> head_dots(&dots[i * kKeyBlock], kKeyBlock);
      ScalePositive(dim_scale, head_dots);
      v.axpy(weights[h + i] * head_scale, head_dots.data(), scores.data(), scores.size());
    }
  }
}

void SelectTopK(std::span<const float> scores, uint32_t count, uint32_t* selected) {
  const Cut cut = FindCut(scores, count);
  uint32_t ties = cut.ties;
  for (uint32_t t = 0; t < scores.size(); ++t) {
    const uint32_t rank = Rank(scores[t]);
    if (rank > cut.rank) {
      *selected++ = t;
    } else if (rank == cut.rank && ties > 0) {
      *selected++ = t;
      --ties;
    }
  }
}

}  // namespace coli
