#include "model/mixture_of_experts.h"

#include <algorithm>

namespace coli {

ExpertPlan::ExpertPlan(const RouterConfig& config, uint32_t max_rows)
    : experts_per_token_(config.experts_per_token),
      choices_(size_t{max_rows} * config.experts_per_token),
      count_(config.experts) {
  experts_.reserve(config.experts);
  uses_.reserve(choices_.size());
  first_use_.reserve(config.experts + size_t{1});
}

void ExpertPlan::Group(uint32_t rows) {
  std::ranges::fill(count_, 0U);
  for (size_t i = 0; i < size_t{rows} * experts_per_token_; ++i) {
    ++count_[static_cast<size_t>(Raw(choices_[i].expert))];
  }
  experts_.clear();
  first_use_.assign(1, 0);
  for (size_t e = 0; e < count_.size(); ++e) {
    if (count_[e] == 0) {
      continue;
    }
    const uint32_t first = first_use_.back();
    experts_.push_back(ExpertId{static_cast<int32_t>(e)});
    first_use_.push_back(first + count_[e]);
    count_[e] = first;  // from here on: where the next use goes
  }
  uses_.resize(first_use_.back());
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t rank = 0; rank < experts_per_token_; ++rank) {
      uses_[count_[static_cast<size_t>(Raw(choices(row)[rank].expert))]++] = {row, rank};
    }
  }
}

MixtureOfExperts::MixtureOfExperts(const ModelConfig& config, const MoeWeights& weights,
                                   LayerId layer, Backend& backend, ExpertStore& store)
    : config_(config), w_(weights), layer_(layer), backend_(backend), store_(store) {}

Status MixtureOfExperts::Run(Step& step, ExpertPlan& plan, RouteScratch& route) const {
  const Activations& a = step.a;
  COLI_RETURN_IF_ERROR(RouteRows(step, plan, route));
  store_.Begin(layer_, plan.experts());
  if (w_.shared) {  // computed while the first experts are being read
    backend_.Ffn(*w_.shared, step.Of(a.normed), a.ffn_inner, step.Of(a.mixed));
  }
  while (true) {
    COLI_ASSIGN_OR_RETURN(const std::optional<ExpertStore::Ready> ready, store_.Next());
    if (!ready) {
      break;
    }
    RunExpert(step, ready->lease.view(), plan.uses(ready->index));
  }
  SumExperts(step, plan);
  return Ok();
}

Status MixtureOfExperts::RouteRows(Step& step, ExpertPlan& plan, RouteScratch& route) const {
  const Activations& a = step.a;
  backend_.MatMul(step.Of(a.normed), w_.router, step.Of(a.router));
  for (size_t r = 0; r < step.rows(); ++r) {
    Status routed =
        Route(config_.router, a.router.row(r), w_.correction_bias.data(), route, plan.choices(r));
    if (!routed) {
      return Wrap(std::move(routed).error(),
                  fmt::format("layer {}, position {}", Raw(layer_), step.row(r).position));
    }
  }
  plan.Group(step.rows());
  return Ok();
}

void MixtureOfExperts::RunExpert(Step& step, const FfnView& expert,
                                 std::span<const ExpertPlan::Use> uses) const {
  const Activations& a = step.a;
  const auto rows = static_cast<uint32_t>(uses.size());
  const MatrixView in = a.expert_in.Rows(0, rows);
  const MatrixView out = a.expert_out.Rows(0, rows);
  backend_.ForRows(rows,
                   [&](size_t i) { std::copy_n(a.normed.row(uses[i].row), in.cols, in.row(i)); });
  backend_.Ffn(expert, in, a.ffn_inner, out);
  const uint32_t per_row = config_.router.experts_per_token;
  backend_.ForRows(rows, [&](size_t i) {
    std::copy_n(out.row(i), out.cols,
                a.expert_outs.row(size_t{uses[i].row} * per_row + uses[i].rank));
  });
}

void MixtureOfExperts::SumExperts(Step& step, const ExpertPlan& plan) const {
  const Activations& a = step.a;
  const VectorKernels& v = backend_.vector();
  const uint32_t per_row = config_.router.experts_per_token;
  backend_.ForRows(step.rows(), [&](size_t r) {
    float* const sum = a.expert_out.row(r);
    std::fill_n(sum, a.expert_out.cols, 0.0F);
    for (uint32_t rank = 0; rank < per_row; ++rank) {
      v.axpy(plan.choices(r)[rank].weight, a.expert_outs.row(r * per_row + rank), sum,
             a.expert_out.cols);
    }
    if (w_.shared) {
      v.add(a.mixed.row(r), sum, a.expert_out.cols);
    }
    std::copy_n(sum, a.expert_out.cols, a.mixed.row(r));
  });
}

}  // namespace coli
