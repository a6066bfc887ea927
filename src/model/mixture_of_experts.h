// The sparse feed-forward: every row goes to its k chosen experts and to the shared expert.
//
//   MoE(m) = sum over chosen e, ascending, of w_e ffn_e(m)  +  ffn_shared(m)
//
// The chosen experts of all rows are one list, ascending, each with the rows that chose it; the
// shared expert comes last, with all rows. It is computed in windows of bounded size: within a
// window experts are computed in whatever order their bytes are there, those that are there at the
// same time together; the outputs of a window are summed in expert order before the next one
// begins. So the result does not depend on the cache, every expert is asked for once in each window
// that it has uses in (one, but for an expert that fills a window alone), and what is held does not
// grow with the rows of a step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/function_ref.h"
#include "model/model_config.h"
#include "model/router.h"
#include "model/step.h"
#include "model/weights.h"
#include "store/expert_store.h"

namespace coli {

// Computing experts that were in memory when they were asked for, for few rows, together with the
// shared expert; since the engine began.
struct ResidentWork {
  double seconds = 0;
  uint64_t bytes = 0;  // of codes

  friend ResidentWork operator-(const ResidentWork& a, const ResidentWork& b) {
    return {a.seconds - b.seconds, a.bytes - b.bytes};
  }
};

// Which rows chose which expert in this step, and working memory for computing them. Made once for
// the largest step.
class ExpertPlan {
 public:
  // `window` (>= 1): the most uses of one window.
  ExpertPlan(const ModelConfig& config, uint32_t max_rows, uint32_t window);
  static uint64_t Bytes(const ModelConfig& config, uint32_t max_rows);

  ExpertChoice* choices(size_t row) { return choices_.data() + row * experts_per_token_; }
  const ExpertChoice* choices(size_t row) const {
    return choices_.data() + row * experts_per_token_;
  }
  // Sorts the uses of `rows` rows by expert.
  void Group(uint32_t rows);
  // The experts that any row chose, ascending. The shared expert is none of them.
  std::span<const ExpertId> experts() const { return experts_; }

  // A range of uses, which are in the order of experts and, for one expert, of rows; and the
  // experts that it touches. Number experts().size() is the shared expert.
  struct Window {
    uint32_t first_use;
    uint32_t end_use;
    size_t first_expert;
    size_t end_expert;
  };
  // The windows of this step one after the other; nothing after the last one. Ends between two
  // experts unless one alone has more uses than a window.
  std::optional<Window> NextWindow();
  // The uses of an expert in the window, counted from the window's first.
  struct Uses {
    uint32_t begin;
    uint32_t count;
  };
  Uses UsesIn(const Window& window, size_t expert) const;
  // The row of each use of the window.
  std::span<const uint32_t> RowsIn(const Window& window) const {
    return std::span(rows_).subspan(window.first_use, window.end_use - window.first_use);
  }
  // body(weight, use) for the uses of `row` in the window, in the order of experts.
  template <class Body>
  void ForUses(const Window& window, size_t row, const Body& body) const {
    for (uint32_t rank = 0; rank < uses_per_row_; ++rank) {
      const uint32_t use = uses_[row * uses_per_row_ + rank];
      if (use >= window.first_use && use < window.end_use) {
        body(rank < experts_per_token_ ? choices(row)[rank].weight : 1.0F, use - window.first_use);
      }
    }
  }

  // What is computed together: networks, the leases of those that the store holds, and the input of
  // each use of the window.
  std::vector<FfnTask> tasks;
  // Of each use in a window of a few, what stays between gate and up of an expert and its down.
  static constexpr uint32_t kMostHalves = 32;
  MatrixView Inner(uint32_t cols) { return {inner_.data(), kMostHalves, cols, cols}; }
  std::vector<ExpertStore::Lease> leases;
  std::vector<const float*> inputs;
  bool all_resident = true;  // experts of the leases were in memory when they were asked for
  size_t TaskRows() const;
  void Release() {  // tasks and leases
    tasks.clear();
    leases.clear();
    all_resident = true;
  }
  const ResidentWork& resident_work() const { return resident_work_; }
  // The tasks took so long.
  void CountTasks(double seconds);

 private:
  const uint32_t experts_per_token_;
  const uint32_t uses_per_row_;  // with the shared expert
  const uint32_t window_;
  uint32_t next_use_ = 0;
  size_t next_expert_ = 0;
  std::vector<ExpertChoice> choices_;  // [rows, k]
  std::vector<ExpertId> experts_;
  std::vector<uint32_t> rows_;       // [uses]: the row of each
  std::vector<uint32_t> uses_;       // [rows, uses per row]: where a row's uses are among all
  std::vector<uint32_t> first_use_;  // [experts + 2]
  std::vector<uint32_t> count_;      // [E]
  std::vector<float> inner_;         // [kMostHalves, I]
  ResidentWork resident_work_;
};

class MixtureOfExperts {
 public:
  // Longer steps are prompts that sweep through all experts; shorter ones, the next turn of a
  // conversation or a tool's result, use and feed what decoding uses.
  static constexpr uint32_t kLongestAppend = 256;
  // Of a long prompt, the last tokens whose routes count for what comes after it.
  static constexpr uint32_t kSweepTail = 32;

  // References must outlive this.
  MixtureOfExperts(const ModelConfig& config, const MoeWeights& weights, LayerId layer,
                   Backend& backend, ExpertStore& store);

  // step.a.normed -> step.a.mixed. Ends early when nobody waits for the rows any more.
  // `while_reading` is called once, when missing experts are on their way and what needs none of
  // them is computed. Errors: kNumeric from the router, and what the store reports.
  Status Run(Step& step, ExpertPlan& plan, RouteScratch& route,
             FunctionRef<void()> while_reading) const;

 private:
  Status RouteRows(Step& step, ExpertPlan& plan, RouteScratch& route) const;
  Status RunWindow(Step& step, ExpertPlan& plan, const ExpertPlan::Window& window,
                   FunctionRef<void()> while_reading) const;
  Status CollectReady(ExpertPlan& plan, const ExpertPlan::Window& window, MatrixView outputs) const;
  void Compute(ExpertPlan& plan) const;
  void AddTask(ExpertPlan& plan, const ExpertPlan::Window& window, size_t expert, const FfnView& w,
               FfnStage stage, MatrixView outputs) const;
  void SumWindow(Step& step, const ExpertPlan& plan, const ExpertPlan::Window& window) const;

  const ModelConfig& config_;
  const MoeWeights& w_;
  const LayerId layer_;
  Backend& backend_;
  ExpertStore& store_;
};

}  // namespace coli
