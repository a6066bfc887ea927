// A model ready to compute: its parts, built in dependency order from options. Engine thread only
// once built.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "engine/engine_mode.h"
#include "engine/memory_plan.h"
#include "engine/options.h"
#include "engine/route_trace.h"
#include "model/forward.h"
#include "model/model_config.h"
#include "model/weights.h"
#include "store/container.h"
#include "store/expert_drives.h"
#include "store/expert_store.h"
#include "store/usage_counter.h"
#include "sys/thread_pool.h"

namespace coli {

class LoadedModel {
 public:
  using Progress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;
  // Makes the engine that reads experts; tests put a faulty one in its place. Empty: the drives
  // that the options say.
  using IoFactory = std::function<std::unique_ptr<IoEngine>()>;

  // Errors: every fault of the model directory, options out of range, a budget that is too small.
  static Result<std::unique_ptr<LoadedModel>> Load(const EngineOptions& options,
                                                   const Progress& progress = {},
                                                   const IoFactory& io = {});
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const ModelConfig& config() const { return config_; }
  const Container& container() const { return container_; }
  const ModelWeights& weights() const { return weights_; }
  const MemoryPlan& plan() const { return plan_; }
  const KernelTable& kernels() const { return *kernels_; }
  ThreadPool& pool() { return *pool_; }
  Backend& backend() { return *backend_; }
  ExpertStore& experts() { return *experts_; }
  Forward& forward() { return *forward_; }
  // What the experts are used for; null unless options.state_dir is set.
  UsageCounter* usage() { return usage_; }
  EngineMode mode() const;

  // What one step reads of the always-used weights, and what an expert is on average.
  uint64_t step_weight_bytes() const { return step_weight_bytes_; }
  uint64_t mean_expert_bytes() const { return mean_expert_bytes_; }
  // How fast the threads read memory, measured on the weights once they are there. 0: they are so
  // few that some cache may hold them.
  double memory_bytes_per_s() const { return memory_bytes_per_s_; }
  // Where experts are read from; null with an engine of a test's.
  const ExpertDrives* drives() const { return drives_.get(); }
  // Ends the record of EngineOptions::trace_routing; says whether it is whole. Ok without one.
  Status FinishTrace() { return trace_ ? trace_->Finish() : Ok(); }
  // What could not be done and was done without, since the last call.
  std::vector<std::string> TakeNotices();

 private:
  LoadedModel(ModelConfig config, Container container)
      : config_(std::move(config)), container_(std::move(container)) {}
  Status Build(const EngineOptions& options, const Progress& progress, const IoFactory& io);
  void MeasureWeights(const WeightCatalog& catalog);
  void LockWeights(const WeightCatalog& catalog);
  Status OpenDrives(const EngineOptions& options, const WeightCatalog& catalog);

  ModelConfig config_;
  Container container_;
  MemoryPlan plan_;
  std::vector<std::string> notices_;
  ModelWeights weights_;
  uint64_t step_weight_bytes_ = 0;
  uint64_t mean_expert_bytes_ = 0;
  uint64_t expert_count_ = 0;
  double memory_bytes_per_s_ = 0;
  const KernelTable* kernels_ = nullptr;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<ExpertDrives> drives_;
  std::unique_ptr<ExpertStore> experts_;
  UsageCounter* usage_ = nullptr;  // the policy of experts_
  std::unique_ptr<RouteTrace> trace_;
  std::unique_ptr<Forward> forward_;
};

// Ranges of the plain numbers among the options.
Status CheckEngineOptions(const EngineOptions& options);

// The formats that the options name. Error: kInvalidArgument listing the names.
Result<HeldFormats> ResolveFormats(const EngineOptions& options);

// What the memory plan must know about the weights of `catalog`, found in `container`, and about
// this machine.
PlanInputs InputsOfPlan(const EngineOptions& options, const Container& container,
                        const WeightCatalog& catalog);

}  // namespace coli
