// The lightning indexer of DSA: a small scorer that picks the keys a row may attend to.
//
//   qI = wq_b ql                      [nI, dI], from the normed query latent
//   kI = LayerNorm(wk a)              [dI], cached per position
//   wI = weights_proj a               [nI], may be negative
//   score(t) = sum over h of wI[h] nI^-0.5 max(0, dI^-0.5 qI[h] . kI_t)      for t <= p
//   S(p) = the min(K, p + 1) best, higher score first, then the lower position
//
// qI and kI are rotated in their first P values.
//
// Source: DeepSeek-V3.2 report, section 2; order of norm and rotation as in transformers'
// GlmMoeDsaIndexer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/model_config.h"
#include "model/step.h"
#include "model/weights.h"

namespace coli {

// Working memory of the indexer.
class IndexerScratch {
 public:
  IndexerScratch(const ModelConfig& config, size_t workers, uint32_t context);
  static uint64_t Bytes(const ModelConfig& config, size_t workers, uint32_t context);

  std::span<float> scores() { return scores_; }  // [context]
  // Of one thread, a row of dI for each key of a block: what the cache has in fewer bits, as f32.
  std::span<float> worker_keys(size_t worker);

 private:
  std::vector<float> scores_;
  std::vector<float> keys_;
  size_t worker_floats_;
};

class Indexer {
 public:
  // References must outlive the indexer.
  Indexer(const ModelConfig& config, const IndexerWeights& weights, LayerId layer,
          Backend& backend);

  // step.a.normed, step.a.q_latent -> step.a.index_q, step.a.index_weights; appends keys to the
  // caches. Comes before Select.
  void Project(Step& step) const;

  // step.a.index_q, step.a.index_weights -> step.selection, from the keys of the caches.
  // Errors: kNumeric for a score that is not finite, naming layer and position.
  Status Select(Step& step, IndexerScratch& scratch) const;

 private:
  void AppendKeys(Step& step) const;
  Status SelectRow(Step& step, size_t r, IndexerScratch& scratch) const;
  // The scores of row r with keys first, first + 1, ...; at most a block of them.
  void ScoreKeys(const Step& step, size_t r, size_t first, std::span<float> widened,
                 std::span<float> scores) const;

  const ModelConfig& config_;
  const IndexerWeights& w_;
  const LayerId layer_;
  Backend& backend_;
};

// The `count` best of scores[0 .. n), ascending by position: higher score first, then the lower
// position; NaN counts as minus infinity. 0 < count <= n. Pure; time O(n) whatever the scores.
void SelectTopK(std::span<const float> scores, uint32_t count, uint32_t* selected);

}  // namespace coli
