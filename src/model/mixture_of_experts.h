// The sparse feed-forward: every row goes to its k chosen experts and to the shared expert.
//
//   MoE(m) = sum over chosen e, ascending, of w_e ffn_e(m)  +  ffn_shared(m)
//
// The chosen experts of all rows are one batch for the store; each is computed when its bytes are
// there, whatever the order, into its own place, and the sum is taken in expert order afterwards:
// the result does not depend on the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "model/model_config.h"
#include "model/router.h"
#include "model/step.h"
#include "model/weights.h"
#include "store/expert_store.h"

namespace coli {

// Which rows chose which expert in this step. Made once for the largest step.
class ExpertPlan {
 public:
  ExpertPlan(const RouterConfig& config, uint32_t max_rows);

  // A row and the rank (by ascending expert id) of an expert among the row's choices.
  struct Use {
    uint32_t row;
    uint32_t rank;
  };

  ExpertChoice* choices(size_t row) { return choices_.data() + row * experts_per_token_; }
  const ExpertChoice* choices(size_t row) const {
    return choices_.data() + row * experts_per_token_;
  }
  // Sorts the uses of `rows` rows by expert.
  void Group(uint32_t rows);
  // The experts that any row chose, ascending.
  std::span<const ExpertId> experts() const { return experts_; }
  // The uses of experts()[i], rows ascending.
  std::span<const Use> uses(size_t i) const {
    return std::span(uses_).subspan(first_use_[i], first_use_[i + 1] - first_use_[i]);
  }

 private:
  uint32_t experts_per_token_;
  std::vector<ExpertChoice> choices_;  // [rows, k]
  std::vector<ExpertId> experts_;
  std::vector<Use> uses_;
  std::vector<uint32_t> first_use_;  // [experts + 1]
  std::vector<uint32_t> count_;      // [E]
};

class MixtureOfExperts {
 public:
  // References must outlive this.
  MixtureOfExperts(const ModelConfig& config, const MoeWeights& weights, LayerId layer,
                   Backend& backend, ExpertStore& store);

  // step.a.normed -> step.a.mixed. Errors: kNumeric from the router, and what the store reports.
  Status Run(Step& step, ExpertPlan& plan, RouteScratch& route) const;

 private:
  Status RouteRows(Step& step, ExpertPlan& plan, RouteScratch& route) const;
  void RunExpert(Step& step, const FfnView& expert, std::span<const ExpertPlan::Use> uses) const;
  void SumExperts(Step& step, const ExpertPlan& plan) const;

  const ModelConfig& config_;
  const MoeWeights& w_;
  const LayerId layer_;
  Backend& backend_;
  ExpertStore& store_;
};

}  // namespace coli
