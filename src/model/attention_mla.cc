#include "model/attention_mla.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/checked_math.h"

namespace coli {
namespace {

constexpr size_t kFloatsPerLine = 16;
// A latent that was read serves this many heads.
constexpr uint32_t kHeadBlock = 64;
// Keys that the heads of a block use together: sized for the L1 cache at GLM-5.2's width.
constexpr size_t kKeyBlock = 12;

size_t Padded(size_t floats) { return AlignUp(floats, kFloatsPerLine); }

// An upper bound on what any kernel needs for a prepared row of the latent.
size_t PreparedBytes(const ModelConfig& config) {
  return Backend::PreparedBound(config.attention.kv_lora_rank);
}

// The keys that a row may attend to, ascending.
class Keys {
 public:
  // `widened` has kKeyBlock rows.
  Keys(const Step& step, size_t r, LayerId layer, const AttentionScratch::Rows& widened)
      : cache_(step.cache(r)), layer_(layer), widened_(widened), all_(step.selection.all(r)) {
    if (!all_) {
      positions_ = step.selection.positions(r);
    }
    count_ = all_ ? size_t{step.row(r).position} + 1 : positions_.size();
  }
  size_t count() const { return count_; }
  // Key i in f32; valid until the next use of row i % kKeyBlock of what is widened.
  const float* latent(size_t i) const {
    return cache_.latent(layer_, all_ ? static_cast<uint32_t>(i) : positions_[i],
                         widened_.row(i % kKeyBlock));
  }
  // Calls body(first, latents) for key after key, a block of them at a time.
  template <class Body>
  void ForBlocks(const Body& body) const {
    std::array<const float*, kKeyBlock> latents;
    for (size_t first = 0; first < count_; first += kKeyBlock) {
      const size_t keys = std::min(kKeyBlock, count_ - first);
      for (size_t i = 0; i < keys; ++i) {
        latents[i] = latent(first + i);
      }
      body(first, FloatVectors{latents.data(), keys});
    }
  }

 private:
  const KvCache& cache_;
  const LayerId layer_;
  const AttentionScratch::Rows widened_;
  const bool all_;
  std::span<const uint32_t> positions_;
  size_t count_;
};

// Heads of one row that a thread computes together: about an even share. No
// result depends on it.
uint32_t HeadsTogether(size_t rows, uint32_t heads, size_t threads) {
  const size_t share = CeilDiv(rows * heads, threads);
  return static_cast<uint32_t>(std::clamp<size_t>(share, 1, std::min(heads, kHeadBlock)));
}

}  // namespace

uint64_t AttentionScratch::Bytes(const ModelConfig& config, size_t workers, uint32_t context) {
  const AttentionConfig& d = config.attention;
  const size_t floats =
      std::min(d.heads, kHeadBlock) * (Padded(std::min(config.indexer.top_k, context)) +
                                       Padded(d.latent_dim()) + Padded(d.kv_lora_rank)) +
      kKeyBlock * Padded(d.latent_dim()) + Padded(d.qk_nope_head_dim + d.v_head_dim);
  return workers * (floats * sizeof(float) + AlignUp(PreparedBytes(config), 64));
}

Result<AttentionScratch> AttentionScratch::Create(const ModelConfig& config, size_t workers,
                                                  uint32_t context) {
  const AttentionConfig& d = config.attention;
  AttentionScratch scratch;
  scratch.head_block_ = std::min(d.heads, kHeadBlock);
  scratch.scores_ = Padded(std::min(config.indexer.top_k, context));
  scratch.query_ = Padded(d.latent_dim());
  scratch.mixture_ = Padded(d.kv_lora_rank);
  scratch.latent_ = Padded(d.latent_dim());
  scratch.expanded_ = Padded(d.qk_nope_head_dim + d.v_head_dim);
  scratch.worker_bytes_ = Bytes(config, 1, context);
  COLI_ASSIGN_OR_RETURN(scratch.buffer_, AlignedBuffer::Allocate(Bytes(config, workers, context)));
  return scratch;
}

AttentionScratch::Worker AttentionScratch::worker(size_t i) const {
  std::byte* const base = buffer_.data() + i * worker_bytes_;
  float* const scores = reinterpret_cast<float*>(base);
  float* const queries = scores + head_block_ * scores_;
  float* const mixtures = queries + head_block_ * query_;
  float* const latents = mixtures + head_block_ * mixture_;
  float* const expanded = latents + kKeyBlock * latent_;
  return {.scores = {scores, scores_},
          .queries = {queries, query_},
          .mixtures = {mixtures, mixture_},
          .latents = {latents, latent_},
          .expanded = expanded,
          .prepared = reinterpret_cast<std::byte*>(expanded + expanded_)};
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
    float* const latent = a.kv.row(r);
    v.rms_norm(latent, w_.kv_a_norm.data(), eps, latent, dims_.kv_lora_rank);
    float* const rope_key = latent + dims_.kv_lora_rank;
    v.rotate_pairs(a.rope_cos.row(r), a.rope_sin.row(r), rope_key, a.rope_cos.cols);
    step.cache(r).StoreLatent(layer_, step.row(r).position, latent);
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
  const uint32_t together = HeadsTogether(step.rows(), dims_.heads, backend_.pool().threads());
  const size_t items = step.rows() * CeilDiv(dims_.heads, together);
  backend_.pool().ParallelFor(items, 1, [&](size_t begin, size_t end, size_t worker) {
    const AttentionScratch::Worker s = scratch.worker(worker);
    for (size_t item = begin; item < end; ++item) {
      // Block by block, so that the heads' part of kv_b stays in the cache for all rows.
      const size_t r = item % step.rows();
      const auto first = static_cast<uint32_t>(item / step.rows()) * together;
      const HeadRange heads{first, std::min(first + together, dims_.heads)};
      explicit_form ? AttendExplicit(step, r, heads, s) : AttendAbsorbed(step, r, heads, s);
    }
  });
  backend_.MatMul(step.Of(step.a.heads), w_.o, step.Of(step.a.mixed));
}

void LatentAttention::AttendAbsorbed(const Step& step, size_t r, HeadRange heads,
                                     const AttentionScratch::Worker& s) const {
  const uint32_t rank = dims_.kv_lora_rank;
  const uint32_t count = heads.end - heads.begin;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dims_.qk_head_dim()));
  const VectorKernels& v = backend_.vector();
  const Keys keys(step, r, layer_, s.latents);

  for (uint32_t i = 0; i < count; ++i) {
    AbsorbQuery(step, r, heads.begin + i, s.queries.row(i));
    std::fill_n(s.mixtures.row(i), rank, 0.0F);
  }
  keys.ForBlocks([&](size_t first, const FloatVectors& latents) {
    v.dots({s.queries.values, s.queries.stride, count}, latents, dims_.latent_dim(),
           s.scores.values + first, s.scores.stride);
  });
  for (uint32_t i = 0; i < count; ++i) {
    v.scale(scale, s.scores.row(i), keys.count());
    v.softmax(s.scores.row(i), keys.count());
  }
  keys.ForBlocks([&](size_t first, const FloatVectors& latents) {
    v.axpys({s.scores.values + first, s.scores.stride, count}, latents, rank, s.mixtures.values,
            s.mixtures.stride);
  });
  for (uint32_t i = 0; i < count; ++i) {
    ExpandMixture(step, r, heads.begin + i, s.mixtures.row(i), s.prepared);
  }
}

// query: [UK^T qn ; qr].
void LatentAttention::AbsorbQuery(const Step& step, size_t r, uint32_t head, float* query) const {
  const uint32_t nope = dims_.qk_nope_head_dim;
  const WeightView up_key = w_.kv_b.Rows(head * (nope + dims_.v_head_dim), nope);
  const float* const q = step.a.q.row(r) + size_t{head} * dims_.qk_head_dim();
  backend_.kernels().For(w_.kv_b.format).multiply_transposed(up_key, q, query);
  std::copy_n(q + nope, dims_.qk_rope_head_dim, query + dims_.kv_lora_rank);
}

// The head's output: UV times the mixture of latents.
void LatentAttention::ExpandMixture(const Step& step, size_t r, uint32_t head, const float* mixture,
                                    std::byte* prepared) const {
  const uint32_t nope = dims_.qk_nope_head_dim;
  const uint32_t rank = dims_.kv_lora_rank;
  const MatrixKernels& kv_b = backend_.kernels().For(w_.kv_b.format);
  const WeightView up_value =
      w_.kv_b.Rows(head * (nope + dims_.v_head_dim) + nope, dims_.v_head_dim);
  kv_b.prepare(up_value.format, mixture, rank, prepared);
  kv_b.multiply(up_value, {prepared, kv_b.prepared_bytes(up_value.format, rank), 1}, 0,
                up_value.rows, step.a.heads.row(r) + size_t{head} * dims_.v_head_dim, 0);
}

void LatentAttention::AttendExplicit(const Step& step, size_t r, HeadRange heads,
                                     const AttentionScratch::Worker& s) const {
  for (uint32_t head = heads.begin; head < heads.end; ++head) {
    AttendHeadExplicit(step, r, head, s);
  }
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
  const Keys keys(step, r, layer_, s.latents);
  float* const scores = s.scores.row(0);
  // [kn_t ; v_t] = [UK ; UV] c_t, from the cached latent.
  const auto expand = [&](const float* latent) {
    kv_b.prepare(up.format, latent, rank, s.prepared);
    kv_b.multiply(up, {s.prepared, kv_b.prepared_bytes(up.format, rank), 1}, 0, up.rows, s.expanded,
                  0);
  };

  for (size_t i = 0; i < keys.count(); ++i) {
    const float* const latent = keys.latent(i);
    expand(latent);
    const float nope_score = v.dot(q, s.expanded, nope);
    const float rope_score = v.dot(q + nope, latent + rank, dims_.qk_rope_head_dim);
    scores[i] = (nope_score + rope_score) * scale;
  }
  v.softmax(scores, keys.count());
  float* const out = step.a.heads.row(r) + size_t{head} * dims_.v_head_dim;
  std::fill_n(out, dims_.v_head_dim, 0.0F);
  for (size_t i = 0; i < keys.count(); ++i) {
    expand(keys.latent(i));
    v.axpy(scores[i], s.expanded + nope, out, dims_.v_head_dim);
  }
}

}  // namespace coli
