// Multi-head latent attention over the selected keys.
//
//   ql = norm(Wq_a a)        q[h] = (Wq_b ql)[h] = [qn ; qr]
//   [c ; kr] = Wkv_a a       c = norm(c)                          qr, kr rotated
//   Wkv_b[h] = [UK ; UV]     cached per position: c and kr
//
// Absorbed form (the default for every row):
//   e_t = s (UK^T qn . c_t + qr . kr_t)      o = UV (sum of softmax(e)_t c_t)
// Explicit form (textbook):
//   e_t = s (qn . UK c_t + qr . kr_t)        o = sum of softmax(e)_t UV c_t
//
// Source: DeepSeek-V2 report, section 2.1 and its appendix on absorption.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "model/model_config.h"
#include "model/step.h"
#include "model/weights.h"

namespace coli {

// Working memory of the attention core, one share per thread of the pool.
class AttentionScratch {
 public:
  static Result<AttentionScratch> Create(const ModelConfig& config, size_t workers,
                                         uint32_t context);
  static uint64_t Bytes(const ModelConfig& config, size_t workers, uint32_t context);

  struct Rows {
    float* values;
    size_t stride;  // floats
    float* row(size_t i) const { return values + i * stride; }
  };
  struct Worker {
    // For each head that a thread computes together.
    Rows scores;    // [keys]: K selected ones, or up to min(K, context) dense ones
    Rows queries;   // [R + P]: absorbed query, then the rotated rope query
    Rows mixtures;  // [R]
    // For each key of a block.
    Rows latents;  // [R + P]: what the cache has in fewer bits, as f32

    float* expanded;      // [N + V]: one key and value of the explicit form
    std::byte* prepared;  // a prepared row of R columns
  };
  Worker worker(size_t i) const;

 private:
  AlignedBuffer buffer_;
  size_t worker_bytes_ = 0;
  size_t head_block_ = 0;
  size_t scores_ = 0;  // floats of each part, padded to cache lines
  size_t query_ = 0;
  size_t mixture_ = 0;
  size_t latent_ = 0;
  size_t expanded_ = 0;
};

class LatentAttention {
 public:
  // References must outlive the attention.
  LatentAttention(const ModelConfig& config, const AttentionWeights& weights, LayerId layer,
                  Backend& backend);

  // step.a.normed -> step.a.q_latent, step.a.q; appends latents and rope keys to the caches. Comes
  // before Attend, so that an indexer can read the query latent in between.
  void Project(Step& step) const;

  // step.a.q -> step.a.mixed, over the keys of step.selection.
  void Attend(Step& step, const AttentionScratch& scratch, bool explicit_form) const;

 private:
  struct HeadRange {
    uint32_t begin;
    uint32_t end;
  };
  void AttendAbsorbed(const Step& step, size_t r, HeadRange heads,
                      const AttentionScratch::Worker& s) const;
  void AbsorbQuery(const Step& step, size_t r, uint32_t head, float* query) const;
  void ExpandMixture(const Step& step, size_t r, uint32_t head, const float* mixture,
                     std::byte* prepared) const;
  void AttendExplicit(const Step& step, size_t r, HeadRange heads,
                      const AttentionScratch::Worker& s) const;
  void AttendHeadExplicit(const Step& step, size_t r, uint32_t head,
                          const AttentionScratch::Worker& s) const;

  const ModelConfig& config_;
  const AttentionConfig& dims_;
  const AttentionWeights& w_;
  const LayerId layer_;
  Backend& backend_;
};

}  // namespace coli
