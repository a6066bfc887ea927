#include "model/mixture_of_experts.h"

#include <algorithm>
#include <chrono>

namespace coli {
namespace {

FfnStage StageOf(ExpertStore::Part part) {
  switch (part) {
    case ExpertStore::Part::kWhole:
      return FfnStage::kWhole;
    case ExpertStore::Part::kGateUp:
      return FfnStage::kGateUp;
    case ExpertStore::Part::kDown:
      return FfnStage::kDown;
  }
  return FfnStage::kWhole;
}

Purpose PurposeOf(const Step& step, const ExpertPlan::Window& window) {
  if (step.rows() > MixtureOfExperts::kLongestAppend) {
    return Purpose::kSweep;
  }
  return window.end_use - window.first_use <= ExpertPlan::kMostHalves ? Purpose::kDecode
                                                                      : Purpose::kAppend;
}

uint64_t CodesOf(const FfnView& w) {
  uint64_t bytes = 0;
  for (const WeightView* matrix : {&w.gate, &w.up, &w.down}) {
    bytes += CodeBytes(matrix->format, matrix->rows, matrix->cols).value_or(0);
  }
  return bytes;
}

uint32_t UsesPerRow(const ModelConfig& config) {
  return config.router.experts_per_token + (config.shared_experts != 0 ? 1U : 0U);
}

}  // namespace

ExpertPlan::ExpertPlan(const ModelConfig& config, uint32_t max_rows, uint32_t window)
    : experts_per_token_(config.router.experts_per_token),
      uses_per_row_(UsesPerRow(config)),
      window_(window),
      choices_(size_t{max_rows} * experts_per_token_),
      uses_(size_t{max_rows} * uses_per_row_),
      count_(config.router.experts) {
  experts_.reserve(count_.size());
  rows_.reserve(uses_.size());
  first_use_.reserve(count_.size() + 2);
  tasks.reserve(window);
  leases.reserve(window);
  inputs.reserve(window);
  inner_.resize(size_t{kMostHalves} * config.expert_intermediate_size);
}

uint64_t ExpertPlan::Bytes(const ModelConfig& config, uint32_t max_rows) {
  return uint64_t{max_rows} * (config.router.experts_per_token * sizeof(ExpertChoice) +
                               UsesPerRow(config) * uint64_t{2} * sizeof(uint32_t)) +
         uint64_t{kMostHalves} * config.expert_intermediate_size * sizeof(float);
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
  uint32_t next_shared = first_use_.back();
  if (uses_per_row_ > experts_per_token_) {
    first_use_.push_back(next_shared + rows);
  }
  rows_.resize(first_use_.back());
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t rank = 0; rank < uses_per_row_; ++rank) {
      const bool shared = rank == experts_per_token_;
      uint32_t& next =
          shared ? next_shared : count_[static_cast<size_t>(Raw(choices(row)[rank].expert))];
      uses_[size_t{row} * uses_per_row_ + rank] = next;
      rows_[next] = row;
      ++next;
    }
  }
  next_use_ = 0;
  next_expert_ = 0;
}

std::optional<ExpertPlan::Window> ExpertPlan::NextWindow() {
  if (next_use_ == rows_.size()) {
    return std::nullopt;
  }
  Window window{};
  window.first_use = next_use_;
  window.first_expert = next_expert_;
  window.end_use = std::min(next_use_ + window_, first_use_.back());
  while (next_expert_ + 1 < first_use_.size() && first_use_[next_expert_ + 1] <= window.end_use) {
    ++next_expert_;
  }
  window.end_expert = next_expert_;
  if (next_expert_ > window.first_expert) {
    window.end_use = first_use_[next_expert_];
  } else {
    ++window.end_expert;  // one expert fills it and goes on in the next
  }
  next_use_ = window.end_use;
  return window;
}

ExpertPlan::Uses ExpertPlan::UsesIn(const Window& window, size_t expert) const {
  const uint32_t begin = std::max(first_use_[expert], window.first_use);
  return {begin - window.first_use, std::min(first_use_[expert + 1], window.end_use) - begin};
}

size_t ExpertPlan::TaskRows() const {
  size_t rows = 0;
  for (const FfnTask& task : tasks) {
    rows += task.x.size();
  }
  return rows;
}

// With many rows, the time of a task says little about the memory of its weights.
void ExpertPlan::CountTasks(double seconds) {
  if (leases.empty() || !all_resident || rows_.size() > kMostHalves) {
    return;
  }
  resident_work_.seconds += seconds;
  for (const FfnTask& task : tasks) {
    resident_work_.bytes += CodesOf(*task.w);
  }
}

MixtureOfExperts::MixtureOfExperts(const ModelConfig& config, const MoeWeights& weights,
                                   LayerId layer, Backend& backend, ExpertStore& store)
    : config_(config), w_(weights), layer_(layer), backend_(backend), store_(store) {}

Status MixtureOfExperts::Run(Step& step, ExpertPlan& plan, RouteScratch& route,
                             FunctionRef<void()> while_reading) const {
  COLI_RETURN_IF_ERROR(RouteRows(step, plan, route));
  plan.Group(step.rows());
  while (const std::optional<ExpertPlan::Window> window = plan.NextWindow()) {
    COLI_RETURN_IF_ERROR(RunWindow(step, plan, *window, while_reading));
    if (step.Abandoned()) {
      break;
    }
    SumWindow(step, plan, *window);
  }
  return Ok();
}

Status MixtureOfExperts::RouteRows(Step& step, ExpertPlan& plan, RouteScratch& route) const {
  const MatrixView logits = step.a.router;
  for (uint32_t first = 0; first < step.rows(); first += logits.rows) {
    const uint32_t rows = std::min(logits.rows, step.rows() - first);
    backend_.MatMul(step.a.normed.Rows(first, rows), w_.router, logits.Rows(0, rows));
    for (uint32_t r = first; r < first + rows; ++r) {
      Status routed = Route(config_.router, logits.row(r - first), w_.correction_bias.data(), route,
                            plan.choices(r));
      if (!routed) {
        return Wrap(std::move(routed).error(),
                    fmt::format("layer {}, position {}", Raw(layer_), step.row(r).position));
      }
      if (step.rows() <= kLongestAppend || step.rows() - r <= kSweepTail) {
        store_.OnRoute(layer_, route.choices);
      }
      if (route.observer != nullptr) {
        route.observer->OnRoute(layer_, r, route.choices,
                                {plan.choices(r), config_.router.experts_per_token});
      }
    }
  }
  return Ok();
}

Status MixtureOfExperts::RunWindow(Step& step, ExpertPlan& plan, const ExpertPlan::Window& window,
                                   FunctionRef<void()> while_reading) const {
  const std::span<const ExpertId> experts = plan.experts();
  const size_t end = std::min(window.end_expert, experts.size());
  store_.Begin(layer_, experts.subspan(window.first_expert, end - window.first_expert),
               PurposeOf(step, window));
  plan.inputs.clear();
  for (const uint32_t row : plan.RowsIn(window)) {
    plan.inputs.push_back(step.a.normed.row(row));
  }
  if (window.end_expert > experts.size()) {  // computed while the first experts are being read
    AddTask(plan, window, experts.size(), *w_.shared, FfnStage::kWhole, step.a.expert_outs);
  }
  Status collected = CollectReady(plan, window, step.a.expert_outs);
  for (bool first = window.first_use == 0; collected && !plan.tasks.empty() && !step.Abandoned();
       first = false) {
    Compute(plan);
    plan.Release();
    if (first) {
      while_reading();
    }
    collected = CollectReady(plan, window, step.a.expert_outs);
  }
  plan.Release();
  return collected;
}

// Adds the experts that can be computed now to the plan's tasks: at least one, unless there are
// tasks already or the window is done; as many as make full passes, if none of the window's waits
// for the place that they hold.
Status MixtureOfExperts::CollectReady(ExpertPlan& plan, const ExpertPlan::Window& window,
                                      MatrixView outputs) const {
  while (plan.tasks.empty() || (store_.MayCollect() && plan.TaskRows() < backend_.pass_rows())) {
    COLI_ASSIGN_OR_RETURN(std::optional<ExpertStore::Ready> ready, store_.Next());
    if (!ready) {
      break;
    }
    plan.leases.push_back(std::move(ready->lease));
    plan.all_resident &= ready->resident;
    AddTask(plan, window, window.first_expert + ready->index, plan.leases.back().view(),
            StageOf(ready->part), outputs);
  }
  return Ok();
}

void MixtureOfExperts::Compute(ExpertPlan& plan) const {
  const auto start = std::chrono::steady_clock::now();
  backend_.Ffn(plan.tasks);
  plan.CountTasks(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

void MixtureOfExperts::AddTask(ExpertPlan& plan, const ExpertPlan::Window& window, size_t expert,
                               const FfnView& w, FfnStage stage, MatrixView outputs) const {
  const ExpertPlan::Uses uses = plan.UsesIn(window, expert);
  FfnTask task{&w, std::span(plan.inputs).subspan(uses.begin, uses.count),
               outputs.Rows(uses.begin, uses.count), stage};
  if (stage != FfnStage::kWhole) {
    task.inner = plan.Inner(w.gate.rows).Rows(uses.begin, uses.count);
  }
  plan.tasks.push_back(task);
}

// The sum of a row goes on from window to window, in the order of experts; the shared one is the
// last.
void MixtureOfExperts::SumWindow(Step& step, const ExpertPlan& plan,
                                 const ExpertPlan::Window& window) const {
  const Activations& a = step.a;
  backend_.ForRows(step.rows(), [&](size_t r) {
    float* const sum = a.mixed.row(r);
    if (window.first_use == 0) {
      std::fill_n(sum, a.mixed.cols, 0.0F);
    }
    plan.ForUses(window, r, [&](float weight, uint32_t use) {
      backend_.vector().axpy(weight, a.expert_outs.row(use), sum, a.mixed.cols);
    });
  });
}

}  // namespace coli
