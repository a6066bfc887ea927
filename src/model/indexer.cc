#include "model/indexer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace coli {
namespace {

// LayerNorm epsilon of the indexer's keys: a constant of the architecture, whatever rms_norm_eps
// says.
constexpr float kKeyNormEps = 1e-6F;
// Keys scored by a thread at a time.
constexpr size_t kKeyGrain = 256;

}  // namespace

Indexer::Indexer(const ModelConfig& config, const IndexerWeights& weights, LayerId layer,
                 Backend& backend)
    : config_(config), w_(weights), layer_(layer), backend_(backend) {}

Status Indexer::Select(Step& step, std::span<float> scores, std::span<uint32_t> order) const {
  Project(step);
  AppendKeys(step);
  for (size_t r = 0; r < step.rows(); ++r) {
    if (step.row(r).position + 1 <= config_.indexer.top_k) {
      step.selection.SelectAll(r);
    } else {
      COLI_RETURN_IF_ERROR(SelectRow(step, r, scores, order));
    }
  }
  return Ok();
}

void Indexer::Project(Step& step) const {
  const Activations& a = step.a;
  const std::array<Product, 2> from_normed{Product{w_.wk, step.Of(a.index_k)},
                                           Product{w_.weights_proj, step.Of(a.index_weights)}};
  backend_.MatMul(step.Of(a.normed), from_normed);
  backend_.MatMul(step.Of(a.q_latent), w_.wq_b, step.Of(a.index_q));
}

void Indexer::AppendKeys(Step& step) const {
  const Activations& a = step.a;
  const uint32_t dim = config_.indexer.head_dim;
  const VectorKernels& v = backend_.vector();
  backend_.ForRows(step.rows(), [&](size_t r) {
    const auto rotate = [&](float* x) {
      v.rotate_pairs(a.rope_cos.row(r), a.rope_sin.row(r), x, a.rope_cos.cols);
    };
    float* const key = step.cache(r).index_key(layer_, step.row(r).position);
    v.layer_norm(a.index_k.row(r), w_.k_norm.data(), w_.k_norm_bias.data(), kKeyNormEps, key, dim);
    rotate(key);
    for (uint32_t h = 0; h < config_.indexer.heads; ++h) {
      rotate(a.index_q.row(r) + size_t{h} * dim);
    }
  });
}

Status Indexer::SelectRow(Step& step, size_t r, std::span<float> scores,
                          std::span<uint32_t> order) const {
  const uint32_t heads = config_.indexer.heads;
  const uint32_t dim = config_.indexer.head_dim;
  const float head_scale = 1.0F / std::sqrt(static_cast<float>(heads));
  const float dim_scale = 1.0F / std::sqrt(static_cast<float>(dim));
  const float* const q = step.a.index_q.row(r);
  const float* const weights = step.a.index_weights.row(r);
  const KvCache& cache = step.cache(r);
  const uint32_t keys = step.row(r).position + 1;
  backend_.pool().ParallelFor(keys, kKeyGrain, [&](size_t begin, size_t end, size_t) {
    for (size_t t = begin; t < end; ++t) {
      const float* const key = cache.index_key(layer_, static_cast<uint32_t>(t));
      float score = 0;
      for (uint32_t h = 0; h < heads; ++h) {
        const float dot = backend_.vector().dot(q + size_t{h} * dim, key, dim) * dim_scale;
        const float positive = dot < 0.0F ? 0.0F : dot;  // not std::max: it would hide a NaN
        score = std::fma(weights[h] * head_scale, positive, score);
      }
      scores[t] = score;
    }
  });
  if (!std::ranges::all_of(scores.first(keys), [](float score) { return std::isfinite(score); })) {
    return Fail(
        ErrorCode::kNumeric,
        "layer {}, position {}: a score of the indexer is not finite; are the weights damaged?",
        Raw(layer_), step.row(r).position);
  }
  const uint32_t count = config_.indexer.top_k;
  SelectTopK(scores.first(keys), order, count, step.selection.SelectSome(r, count));
  return Ok();
}

void SelectTopK(std::span<const float> scores, std::span<uint32_t> order, uint32_t count,
                uint32_t* selected) {
  const auto ranked = order.first(scores.size());
  std::iota(ranked.begin(), ranked.end(), 0U);
  const auto rank = [&](uint32_t t) {
    return std::isnan(scores[t]) ? -std::numeric_limits<float>::infinity() : scores[t];
  };
  const auto better = [&](uint32_t s, uint32_t t) {
    return rank(s) != rank(t) ? rank(s) > rank(t) : s < t;
  };
  const auto kept = ranked.begin() + static_cast<std::ptrdiff_t>(count);
  if (count < ranked.size()) {
    std::nth_element(ranked.begin(), kept, ranked.end(), better);
  }
  std::sort(ranked.begin(), kept);
  std::copy(ranked.begin(), kept, selected);
}

}  // namespace coli
