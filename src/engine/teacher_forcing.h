// A model run over a sequence that is known beforehand, piece by piece: what it would have said at
// each position. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "engine/loaded_model.h"
#include "model/kv_cache.h"
#include "model/mtp_head.h"

namespace coli {

class TeacherForcing {
 public:
  // Room for `positions` tokens; `with_mtp` also for the rows of the MTP layer, which the model
  // must have loaded. `first_position` is the rope position of the first token. `model` has room
  // for the logits of all rows and outlives the result.
  static Result<TeacherForcing> Start(LoadedModel& model, uint32_t positions, bool with_mtp,
                                      uint32_t first_position = 0);

  struct StepOptions {
    uint32_t logits_from = 0;  // no logits of positions before this one
    LayerObserver observer = {};
    std::function<bool()> cancelled = {};  // asked between layers; then rows may be missing
  };
  // Computes the next tokens, at most the prefill chunk of the model. Row i of the result belongs
  // to position rows[i].position and foretells the token after it. Valid until the next call.
  Result<StepResult> Run(std::span<const TokenId> tokens, const StepOptions& options);
  Result<StepResult> Run(std::span<const TokenId> tokens) { return Run(tokens, {}); }

  // The first MTP layer on the rows of the last step, which had logits for all: row i knows
  // next_tokens[i], the token after its position, and foretells the one after that. Fewer next
  // tokens than rows leave out the last rows. Takes the place of the step's logits.
  Result<MtpResult> RunMtp(const StepResult& step, std::span<const TokenId> next_tokens);

  // Forgets the sequence; the room stays.
  void Restart() { positions_ = 0; }
  uint32_t positions() const { return positions_; }  // computed so far

 private:
  TeacherForcing(LoadedModel& model, KvCache cache) : model_(&model), cache_(std::move(cache)) {}

  LoadedModel* model_;
  KvCache cache_;
  uint32_t positions_ = 0;
};

}  // namespace coli
