#include "engine/teacher_forcing.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace coli {

Result<TeacherForcing> TeacherForcing::Start(LoadedModel& model, uint32_t positions, bool with_mtp,
                                             uint32_t first_position) {
  COLI_ASSIGN_OR_RETURN(KvCache cache, KvCache::Create(model.config(),
                                                       {.capacity = positions,
                                                        .with_mtp = with_mtp,
                                                        .format = model.plan().kv_format},
                                                       first_position));
  return TeacherForcing(model, std::move(cache));
}

Result<StepResult> TeacherForcing::Run(std::span<const TokenId> tokens,
                                       const StepOptions& options) {
  Batch batch;
  batch.caches.push_back(&cache_);
  for (const TokenId token : tokens) {
    batch.rows.push_back({0, token, positions_, positions_ >= options.logits_from});
    ++positions_;
  }
  if (options.cancelled) {
    batch.cancelled = [&](uint32_t /*sequence*/) { return options.cancelled(); };
  }
  return model_->forward().Run(std::move(batch), options.observer);
}

Result<MtpResult> TeacherForcing::RunMtp(const StepResult& step,
                                         std::span<const TokenId> next_tokens) {
  COLI_CHECK(next_tokens.size() <= step.rows.size());
  MtpHead head(model_->config(), model_->weights(), 0, model_->forward(), model_->backend(),
               model_->experts());
  std::vector<MtpRow> rows;
  for (size_t i = 0; i < next_tokens.size(); ++i) {
    rows.push_back({&cache_, next_tokens[i], step.rows[i].position, step.hidden.row(i)});
  }
  return head.Run(rows);
}

}  // namespace coli
