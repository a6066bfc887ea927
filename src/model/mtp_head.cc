#include "model/mtp_head.h"

#include "base/check.h"

namespace coli {

MtpHead::MtpHead(const ModelConfig& config, const ModelWeights& weights, uint32_t index,
                 Forward& forward, Backend& backend, ExpertStore& store)
    : config_(config),
      weights_(weights),
      w_(weights.mtp[index]),
      forward_(forward),
      backend_(backend),
      layer_(config, w_.layer, LayerId{static_cast<int32_t>(config.num_layers() + index)}, backend,
             store) {}

Result<MtpResult> MtpHead::Run(const std::vector<MtpRow>& rows) {
  Batch batch;
  for (const MtpRow& row : rows) {
    const auto sequence = static_cast<uint32_t>(batch.caches.size());
    batch.rows.push_back({sequence, row.next_token, row.position, true});
    batch.caches.push_back(row.cache);
  }
  const Activations& a = forward_.activations();
  Step step(batch, a, forward_.selection());
  COLI_CHECK(step.rows() <= a.logits.rows);
  forward_.Rotate(step);
  const VectorKernels& v = backend_.vector();
  const float eps = config_.rms_norm_eps;
  const uint32_t hidden = config_.hidden_size;
  for (size_t r = 0; r < rows.size(); ++r) {
    float* const joined = a.joined.row(r);
    forward_.Embed(rows[r].next_token, joined);
    v.rms_norm(joined, w_.enorm.data(), eps, joined, hidden);
    v.rms_norm(rows[r].hidden, w_.hnorm.data(), eps, joined + hidden, hidden);
  }
  backend_.MatMul(step.Of(a.joined), w_.eh_proj, step.Of(a.x));
  COLI_RETURN_IF_ERROR(layer_.Run(step, forward_.scratch()));
  for (size_t r = 0; r < rows.size(); ++r) {
    v.rms_norm(a.x.row(r), w_.head_norm.data(), eps, a.hidden.row(r), hidden);
  }
  backend_.MatMul(step.Of(a.hidden), weights_.lm_head, step.Of(a.logits));
  return MtpResult{step.Of(a.hidden), step.Of(a.logits)};
}

}  // namespace coli
