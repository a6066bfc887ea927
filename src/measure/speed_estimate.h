// How fast a model will be on a machine, foretold from what a token needs and from what the machine
// does in a second: the one formula of `coli plan` and `coli estimate`, in words in
// docs/performance.md. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model_facts.h"

namespace coli {

// What a model costs.
struct ModelCost {
  uint64_t always_bytes = 0;  // weights that every token reads
  uint64_t expert_bytes = 0;  // of the experts that one token chooses, as they are held
  // What reading those from the drive would read; less where they are stored shorter.
  double read_bytes = 0;
  // Multiply-adds with weights for one token of a prompt, by number format.
  std::map<std::string, double> multiply_adds;
  uint32_t experts = 0;  // of a layer
  uint32_t experts_per_token = 0;
};
ModelCost CostOf(const ModelFacts& facts);

// What a machine does in a second.
struct MachineSpeed {
  double memory_bytes = 0;                      // plainly reading them, all threads
  double drive_bytes = 0;                       // reading whole experts at random; 0: not known
  std::map<std::string, double> multiply_adds;  // of 16 rows together, by number format
};

// How tokens choose their experts.
enum class Routing : uint8_t {
  kText,     // as in text: experts of the last tokens are chosen again more often than others
  kUniform,  // each expert as often as any other, whatever came before: a synthetic model
};

// The share of chosen experts that are found in memory while an answer is written, where
// `cached_share` of all of them fit. Text: between points of a simulation of 75 layers of 256
// experts, 8 per token, whose routing repeats as that of GLM-5.2 was observed to, with the cache
// policy of scores; docs/performance.md, "What a plan foretells".
double HitRate(double cached_share, Routing routing);

enum class SpeedLimit : uint8_t { kDrive, kMemory };
std::string_view NameOf(SpeedLimit limit);  // "the drive", "reading memory"

struct SpeedEstimate {
  double hit_rate = 0;
  // Tokens per second of an answer: nothing overlaps; experts are computed while others are read;
  // everything overlaps.
  double slowest = 0;
  double expected = 0;
  double fastest = 0;
  SpeedLimit limit = SpeedLimit::kMemory;  // of the expected speed
  // Of a prompt, when no expert is in memory yet; nothing where the drive's speed is not known.
  std::optional<double> first_token_s;
};

struct SpeedQuestion {
  double cached_share = 0;  // of all experts, that fit in memory
  Routing routing = Routing::kText;
  uint32_t prompt_tokens = 0;
  uint32_t slice_rows = 1;  // prompt tokens that are computed together
};

// Nothing when it depends on a drive whose speed is not known.
std::optional<SpeedEstimate> EstimateSpeed(const ModelCost& cost, const MachineSpeed& speed,
                                           const SpeedQuestion& question);

}  // namespace coli
