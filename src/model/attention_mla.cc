#include "model/attention_mla.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/checked_math.h"

namespace coli {
namespace {

constexpr size_t kFloatsPerLine = 16;

size_t Padded(size_t floats) { return AlignUp(floats, kFloatsPerLine); }

// An upper bound on what any kernel needs for a prepared row of the latent.
size_t PreparedBytes(const ModelConfig& config) {
  return Backend::PreparedBound(config.attention.kv_lora_rank);
}

// Calls body(i, t) for the i-th key t that row r may attend to, ascending; returns how many there
// are.
template <class Body>
size_t ForKeys(const Step& step, size_t r, const Body& body) {
  if (step.selection.all(r)) {
    const uint32_t keys = step.row(r).position + 1;
    for (uint32_t t = 0; t < keys; ++t) {
      body(t, t);
    }
    return keys;
  }
  const std::span<const uint32_t> positions = step.selection.positions(r);
  for (size_t i = 0; i < positions.size(); ++i) {
    body(i, positions[i]);
  }
  return positions.size();
}

}  // namespace

uint64_t AttentionScratch::Bytes(const ModelConfig& config, size_t workers, uint32_t context) {
  const AttentionConfig& d = config.attention;
  const size_t floats = Padded(std::min(config.indexer.top_k, context)) + Padded(d.latent_dim()) +
                        Padded(std::max(d.kv_lora_rank, d.v_head_dim)) +
                        Padded(d.qk_nope_head_dim + d.v_head_dim);
  return workers * (floats * sizeof(float) + AlignUp(PreparedBytes(config), 64));
}

Result<AttentionScratch> AttentionScratch::Create(const ModelConfig& config, size_t workers,
                                                  uint32_t context) {
  const AttentionConfig& d = config.attention;
  AttentionScratch scratch;
  scratch.scores_ = Padded(std::min(config.indexer.top_k, context));
  scratch.query_ = Padded(d.latent_dim());
  scratch.mixture_ = Padded(std::max(d.kv_lora_rank, d.v_head_dim));
  scratch.expanded_ = Padded(d.qk_nope_head_dim + d.v_head_dim);
  scratch.worker_bytes_ = Bytes(config, 1, context);
  COLI_ASSIGN_OR_RETURN(scratch.buffer_, AlignedBuffer::Allocate(Bytes(config, workers, context)));
  return scratch;
}

AttentionScratch::Worker AttentionScratch::worker(size_t i) const {
  std::byte* const base = buffer_.data() + i * worker_bytes_;
  float* const scores = reinterpret_cast<float*>(base);
  float* const query = scores + scores_;
  float* const mixture = query + query_;
  float* const expanded = mixture + mixture_;
  return {scores, query, mixture, expanded, reinterpret_cast<std::byte*>(expanded + expanded_)};
}

LatentAttention::LatentAttention(const ModelConfig& config, const AttentionWeights& weights,
                                 LayerId layer, Backend& backend)
    : config_(config), dims_(config.attention), w_(weights), layer_(layer), backend_(backend) {}

void LatentAttention::Project(Step& step) const {
  const Activations& a = step.a;
  const VectorKernels& v = backend_.vector();
  const std::array<Product, 2> down{Product{w_.q_a, step.Of(a.q_latent)},
                                    Product{w_.kv_a, step.Of(a.kv)}};
  backend_.MatMul(step.Of(a.normed), down);
  backend_.ForRows(step.rows(), [&](size_t r) {
    const float eps = config_.latent_norm_eps;
    v.rms_norm(a.q_latent.row(r), w_.q_a_norm.data(), eps, a.q_latent.row(r), dims_.q_lora_rank);
    float* const cached = step.cache(r).latent(layer_, step.row(r).position);
    v.rms_norm(a.kv.row(r), w_.kv_a_norm.data(), eps, cached, dims_.kv_lora_rank);
    float* const rope_key = cached + dims_.kv_lora_rank;
    std::copy_n(a.kv.row(r) + dims_.kv_lora_rank, dims_.qk_rope_head_dim, rope_key);
    v.rotate_pairs(a.rope_cos.row(r), a.rope_sin.row(r), rope_key, a.rope_cos.cols);
  });
  backend_.MatMul(step.Of(a.q_latent), w_.q_b, step.Of(a.q));
  backend_.ForRows(step.rows(), [&](size_t r) {
    for (uint32_t h = 0; h < dims_.heads; ++h) {
      float* const rope_query =
          a.q.row(r) + size_t{h} * dims_.qk_head_dim() + dims_.qk_nope_head_dim;
      v.rotate_pairs(a.rope_cos.row(r), a.rope_sin.row(r), rope_query, a.rope_cos.cols);
    }
  });
}

void LatentAttention::Attend(Step& step, const AttentionScratch& scratch,
                             bool explicit_form) const {
  const size_t items = size_t{step.rows()} * dims_.heads;
  backend_.pool().ParallelFor(items, 1, [&](size_t begin, size_t end, size_t worker) {
    const AttentionScratch::Worker s = scratch.worker(worker);
    for (size_t item = begin; item < end; ++item) {
      // Head by head, so that a head's part of kv_b stays in the cache for all rows.
      const size_t r = item % step.rows();
      const auto head = static_cast<uint32_t>(item / step.rows());
      explicit_form ? AttendHeadExplicit(step, r, head, s) : AttendHead(step, r, head, s);
    }
  });
  backend_.MatMul(step.Of(step.a.heads), w_.o, step.Of(step.a.mixed));
}

void LatentAttention::AttendHead(const Step& step, size_t r, uint32_t head,
                                 const AttentionScratch::Worker& s) const {
  const uint32_t nope = dims_.qk_nope_head_dim;
  const uint32_t rank = dims_.kv_lora_rank;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dims_.qk_head_dim()));
  const VectorKernels& v = backend_.vector();
  const MatrixKernels& kv_b = backend_.kernels().For(w_.kv_b.format);
  const uint32_t first_row = head * (nope + dims_.v_head_dim);
  const WeightView up_key = w_.kv_b.Rows(first_row, nope);
  const WeightView up_value = w_.kv_b.Rows(first_row + nope, dims_.v_head_dim);
  const float* const q = step.a.q.row(r) + size_t{head} * dims_.qk_head_dim();
  const KvCache& cache = step.cache(r);

  kv_b.multiply_transposed(up_key, q, s.query);                   // UK^T qn: [R]
  std::copy_n(q + nope, dims_.qk_rope_head_dim, s.query + rank);  // [qa ; qr]
  const size_t keys = ForKeys(step, r, [&](size_t i, uint32_t t) {
    s.scores[i] = v.dot(s.query, cache.latent(layer_, t), dims_.latent_dim()) * scale;
  });
  v.softmax(s.scores, keys);
  std::fill_n(s.mixture, rank, 0.0F);
  ForKeys(step, r, [&](size_t i, uint32_t t) {
    v.axpy(s.scores[i], cache.latent(layer_, t), s.mixture, rank);
  });
  kv_b.prepare(up_value.format, s.mixture, rank, s.prepared);
  const PreparedRows prepared{s.prepared, kv_b.prepared_bytes(up_value.format, rank), 1};
  kv_b.multiply(up_value, prepared, 0, up_value.rows,
                step.a.heads.row(r) + size_t{head} * dims_.v_head_dim, 0);
}

void LatentAttention::AttendHeadExplicit(const Step& step, size_t r, uint32_t head,
                                         const AttentionScratch::Worker& s) const {
  const uint32_t nope = dims_.qk_nope_head_dim;
  const uint32_t rank = dims_.kv_lora_rank;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dims_.qk_head_dim()));
  const VectorKernels& v = backend_.vector();
  const MatrixKernels& kv_b = backend_.kernels().For(w_.kv_b.format);
  const WeightView up = w_.kv_b.Rows(head * (nope + dims_.v_head_dim), nope + dims_.v_head_dim);
  const float* const q = step.a.q.row(r) + size_t{head} * dims_.qk_head_dim();
  const KvCache& cache = step.cache(r);
  // [kn_t ; v_t] = [UK ; UV] c_t, from the cached latent.
  const auto expand = [&](uint32_t t) {
    kv_b.prepare(up.format, cache.latent(layer_, t), rank, s.prepared);
    kv_b.multiply(up, {s.prepared, kv_b.prepared_bytes(up.format, rank), 1}, 0, up.rows, s.expanded,
                  0);
  };

  const size_t keys = ForKeys(step, r, [&](size_t i, uint32_t t) {
    expand(t);
    const float nope_score = v.dot(q, s.expanded, nope);
    const float rope_score =
        v.dot(q + nope, cache.latent(layer_, t) + rank, dims_.qk_rope_head_dim);
    s.scores[i] = (nope_score + rope_score) * scale;
  });
  v.softmax(s.scores, keys);
  float* const out = step.a.heads.row(r) + size_t{head} * dims_.v_head_dim;
  std::fill_n(out, dims_.v_head_dim, 0.0F);
  ForKeys(step, r, [&](size_t i, uint32_t t) {
    expand(t);
    v.axpy(s.scores[i], s.expanded + nope, out, dims_.v_head_dim);
  });
}

}  // namespace coli
