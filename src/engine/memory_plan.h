// Where every byte goes, decided before anything is allocated. A pure function of model, options
// and host.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/options.h"
#include "model/forward.h"
#include "model/model_config.h"

namespace coli {

// Facts about weights and host that the plan needs.
struct PlanInputs {
  uint64_t dense_bytes = 0;            // always-used weights as they are held
  uint64_t expert_bytes = 0;           // all experts together
  uint64_t largest_expert_bytes = 0;   // one slot
  uint64_t largest_staging_bytes = 0;  // what reading one takes besides, if experts are converted
  uint64_t largest_conversion_bytes = 0;  // what each thread takes to convert a matrix
  uint64_t policy_bytes = 0;              // what the cache policy keeps about all experts
  uint64_t available_bytes = 0;           // what the host offers when options.ram_bytes is 0
  size_t tensors = 0;                     // of the directory, whose names and places are kept
  size_t threads = 1;
};

struct MemoryPlan {
  uint64_t budget_bytes = 0;   // for the whole process
  uint64_t program_bytes = 0;  // code, libraries, stacks, tokenizer, the directory of tensors
  uint64_t dense_bytes = 0;
  FormatId kv_format = FormatId::kF32;  // of the KV cache
  uint64_t kv_bytes_per_sequence = 0;
  uint32_t sequences = 0;           // that can be computed at the same time
  uint64_t scratch_bytes = 0;       // activations of one step
  uint64_t staging_bytes = 0;       // for weights on their way from their stored format
  uint64_t policy_bytes = 0;        // as in PlanInputs
  uint64_t expert_cache_bytes = 0;  // what is left, at most all experts
  uint64_t reads_bytes = 0;         // of that, for experts on their way: the others stay
  uint32_t context = 0;
  uint32_t prefill_rows = 0;  // prompt rows of one step
  uint64_t total() const {
    return program_bytes + dense_bytes + kv_bytes_per_sequence * sequences + scratch_bytes +
           staging_bytes + policy_bytes + expert_cache_bytes;
  }
  uint64_t resident_bytes() const { return expert_cache_bytes - reads_bytes; }
};

// The limits of the forward pass that `options` ask for; `prefill_rows` and `context` are the
// plan's.
ForwardOptions StepLimits(const EngineOptions& options, uint32_t prefill_rows, uint32_t context);

// Experts that one step of decoding asks a layer for, at most.
size_t DecodeExperts(const ModelConfig& config, uint32_t sequences);

// What the cache policy of that name and its statistics keep about so many experts; 0 for a name
// that there is not.
uint64_t PolicyBytes(std::string_view policy, std::span<const size_t> experts_by_layer);

// The number of positions per sequence: options.context, or its default. Errors: kInvalidArgument
// beyond the model's.
Result<uint32_t> ResolveContext(const ModelConfig& config, const EngineOptions& options);

// Unless options.prefill_chunk names it, prefill_rows is the largest power of two up to
// kLongestSlice, or just above what all contexts hold, whose activations take an eighth of the room
// for experts at most: every slice reads nearly all experts, so longer slices read less; but a
// large cache reads less, too. At least kShortestSlice.
inline constexpr uint32_t kLongestSlice = 4096;
inline constexpr uint32_t kShortestSlice = 64;

// What stays untouched for the rest of the machine when the user names no budget: a tenth of what
// is available, but at least 512 MiB or, where there is little, a quarter.
uint64_t ReservedBytes(uint64_t available_bytes);

// The least that works: one expert, one sequence, the shortest slice. Errors: kInvalidArgument for
// a context beyond the model's.
Result<MemoryPlan> LeastPlan(const ModelConfig& config, const PlanInputs& inputs,
                             const EngineOptions& options);

// The largest power of two below the context asked for that fits the budget; 0: none does.
uint32_t ContextThatFits(const ModelConfig& config, const PlanInputs& inputs,
                         EngineOptions options);

// Errors: kNotEnoughMemory with the parts and the smallest budget that would do; kInvalidArgument
// for a context beyond the model's.
Result<MemoryPlan> PlanMemory(const ModelConfig& config, const PlanInputs& inputs,
                              const EngineOptions& options);

}  // namespace coli
