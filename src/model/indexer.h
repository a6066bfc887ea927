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

#include "backend/backend.h"
#include "model/model_config.h"
#include "model/step.h"
#include "model/weights.h"

namespace coli {

class Indexer {
 public:
  // References must outlive the indexer.
  Indexer(const ModelConfig& config, const IndexerWeights& weights, LayerId layer,
          Backend& backend);

  // step.a.normed, step.a.q_latent -> step.a.index_q, step.a.index_weights; appends keys to the
  // caches. Comes before Select.
  void Project(Step& step) const;

  // step.a.index_q, step.a.index_weights -> step.selection, from the keys of the caches. `scores`:
  // scratch for as many floats as a sequence has positions.
  // Errors: kNumeric for a score that is not finite, naming layer and position.
  Status Select(Step& step, std::span<float> scores) const;

 private:
  void AppendKeys(Step& step) const;
  Status SelectRow(Step& step, size_t r, std::span<float> scores) const;
  // The scores of row r with keys first, first + 1, ...; at most a block of them.
  void ScoreKeys(const Step& step, size_t r, size_t first, std::span<float> scores) const;

  const ModelConfig& config_;
  const IndexerWeights& w_;
  const LayerId layer_;
  Backend& backend_;
};

// The `count` best of scores[0 .. n), ascending by position: higher score first, then the lower
// position; NaN counts as minus infinity. 0 < count <= n. Pure; time O(n) whatever the scores.
void SelectTopK(std::span<const float> scores, uint32_t count, uint32_t* selected);

}  // namespace coli
