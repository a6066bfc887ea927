// What `coli info` and `coli plan` tell: facts of a model directory and of this machine, without
// reading weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/memory_plan.h"
#include "engine/options.h"
#include "model/model_config.h"

namespace coli {

struct ModelFacts {
  ModelConfig config;
  uint64_t file_bytes = 0;
  // Bytes as they will be held, by role ("experts", "attention", ...) and number format
  // ("int4-g64", "f32").
  std::map<std::string, std::map<std::string, uint64_t>> formats;
  uint64_t expert_count = 0;      // of the main layers
  std::string isa;                // that would be used
  std::vector<std::string> isas;  // that this machine has, slowest first
  PlanInputs inputs;              // of memory plans: sizes, memory that is available, threads
  Result<MemoryPlan> plan;        // a plan that does not work out is a fact, too
};

// Errors: every fault of the directory that shows without reading weights; an unknown instruction
// set.
Result<ModelFacts> InspectModel(const EngineOptions& options);

// What a tensor is for, by its name in the checkpoint: "experts", "shared experts", "attention",
// "indexer", "router", "dense layers", "embedding", "head", "norms", "MTP", "other". Layers from
// `main_layers` on are MTP.
std::string TensorRole(std::string_view name, uint32_t main_layers);

// The schedule of indexers: "F" for a layer with its own, "S" for one that shares, with runs
// counted: "3F 2S F".
std::string IndexerSchedule(const std::vector<LayerConfig>& layers);

}  // namespace coli
