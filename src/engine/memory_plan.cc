#include "engine/memory_plan.h"

#include <algorithm>
#include <bit>

#include "base/checked_math.h"
#include "model/kv_cache.h"
#include "store/expert_store.h"
#include "store/usage_counter.h"

namespace coli {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Code, libraries, stacks and the tokenizer; and for each tensor its name, place and format.
constexpr uint64_t kProgramBytes = 48 * kMiB;
constexpr uint64_t kTensorBytes = 512;
constexpr uint32_t kDefaultContext = 4096;
// Experts that are read or converted at the same time, where they are converted at all.
constexpr uint64_t kStagedExperts = 2;
// Of what is left for experts, a long slice's activations take at most one part in this many.
constexpr uint64_t kSliceShare = 8;

// Bytes that the expert cache can make use of.
uint64_t ExpertBytesWanted(const PlanInputs& inputs, const EngineOptions& options) {
  if (!options.cache_experts) {
    return inputs.expert_bytes;
  }
  return std::min(inputs.expert_bytes, *options.cache_experts * inputs.largest_expert_bytes);
}

std::string Mebibytes(uint64_t bytes) {  // rounded up: what is needed is never said too small
  return fmt::format("{} MiB", CeilDiv(bytes, kMiB));
}

uint64_t ScratchBytes(const ModelConfig& config, const PlanInputs& inputs,
                      const EngineOptions& options, uint32_t prefill_rows, uint32_t context) {
  return Forward::ScratchBytes(config, StepLimits(options, prefill_rows, context), inputs.threads);
}

tl::unexpected<Error> DoesNotFit(const MemoryPlan& least) {
  return Fail(ErrorCode::kNotEnoughMemory,
              "the model needs at least {} of memory ({} weights, {} KV cache for {} positions, {} "
              "activations, {} for one expert, {} program); the budget is {} MiB: raise --ram, or "
              "lower --ctx or --prefill-chunk",
              Mebibytes(least.total()), Mebibytes(least.dense_bytes),
              Mebibytes(least.kv_bytes_per_sequence), least.context, Mebibytes(least.scratch_bytes),
              Mebibytes(least.expert_cache_bytes + least.staging_bytes),
              Mebibytes(least.program_bytes + least.policy_bytes), least.budget_bytes / kMiB);
}

}  // namespace

ForwardOptions StepLimits(const EngineOptions& options, uint32_t prefill_rows, uint32_t context) {
  ForwardOptions limits;
  limits.max_rows = prefill_rows + options.max_sequences;
  limits.max_logit_rows = options.logits_for_all_rows ? limits.max_rows : options.max_sequences;
  limits.context = context;
  limits.explicit_attention = options.attention == AttentionForm::kExplicit;
  return limits;
}

size_t DecodeExperts(const ModelConfig& config, uint32_t sequences) {
  return size_t{config.router.experts_per_token} * sequences;
}

uint64_t PolicyBytes(std::string_view policy, std::span<const size_t> experts_by_layer) {
  auto made = MakeCachePolicy(policy);
  return made ? UsageCounter(*std::move(made)).MemoryBytes(experts_by_layer) : 0;
}

Result<uint32_t> ResolveContext(const ModelConfig& config, const EngineOptions& options) {
  if (options.context > config.max_positions) {
    return Fail(ErrorCode::kInvalidArgument,
                "context: {} positions asked for, the model allows at most {}", options.context,
                config.max_positions);
  }
  return options.context != 0 ? options.context : std::min(kDefaultContext, config.max_positions);
}

uint64_t ReservedBytes(uint64_t available_bytes) {
  return std::max(available_bytes / 10, std::min(512 * kMiB, available_bytes / 4));
}

Result<MemoryPlan> LeastPlan(const ModelConfig& config, const PlanInputs& inputs,
                             const EngineOptions& options) {
  MemoryPlan plan;
  COLI_ASSIGN_OR_RETURN(plan.context, ResolveContext(config, options));
  plan.budget_bytes = options.ram_bytes != 0
                          ? options.ram_bytes
                          : inputs.available_bytes - ReservedBytes(inputs.available_bytes);
  plan.program_bytes = kProgramBytes + kTensorBytes * inputs.tensors;
  plan.dense_bytes = inputs.dense_bytes;
  plan.kv_format = options.kv;
  plan.kv_bytes_per_sequence = KvCache::Bytes(
      config, {.capacity = plan.context, .with_mtp = options.load_mtp, .format = plan.kv_format});
  plan.prefill_rows = options.prefill_chunk != 0 ? options.prefill_chunk : kShortestSlice;
  plan.scratch_bytes = ScratchBytes(config, inputs, options, plan.prefill_rows, plan.context);
  plan.sequences = 1;
  plan.staging_bytes = kStagedExperts * inputs.largest_staging_bytes +
                       inputs.threads * inputs.largest_conversion_bytes;
  plan.policy_bytes = inputs.policy_bytes;
  plan.expert_cache_bytes = inputs.largest_expert_bytes;
  return plan;
}

uint32_t ContextThatFits(const ModelConfig& config, const PlanInputs& inputs,
                         EngineOptions options) {
  const auto asked = ResolveContext(config, options);
  if (!asked) {
    return 0;
  }
  for (uint32_t context = std::bit_floor(*asked - 1); context >= 2; context /= 2) {
    options.context = context;
    const auto least = LeastPlan(config, inputs, options);
    if (least && least->total() <= least->budget_bytes) {
      return context;
    }
  }
  return 0;
}

Result<MemoryPlan> PlanMemory(const ModelConfig& config, const PlanInputs& inputs,
                              const EngineOptions& options) {
  COLI_ASSIGN_OR_RETURN(MemoryPlan plan, LeastPlan(config, inputs, options));
  if (plan.total() > plan.budget_bytes) {
    return DoesNotFit(plan);
  }
  const auto scratch = [&](uint32_t rows) {
    return ScratchBytes(config, inputs, options, rows, plan.context);
  };
  uint64_t left = plan.budget_bytes - plan.total();
  if (options.prefill_chunk == 0) {
    const uint64_t room = plan.scratch_bytes + left / kSliceShare;
    const uint64_t longest =
        std::min<uint64_t>(kLongestSlice, uint64_t{plan.context} * options.max_sequences);
    while (plan.prefill_rows < longest && scratch(2 * plan.prefill_rows) <= room) {
      plan.prefill_rows *= 2;
    }
    left -= scratch(plan.prefill_rows) - plan.scratch_bytes;
    plan.scratch_bytes = scratch(plan.prefill_rows);
  }
  // More sequences only from what a token's experts do not need: a cache below that reads
  // everything again every token.
  const uint64_t token_experts =
      std::min(inputs.expert_bytes,
               inputs.largest_expert_bytes * config.router.experts_per_token * config.num_layers());
  while (plan.sequences < options.max_sequences &&
         left >= plan.kv_bytes_per_sequence + token_experts) {
    ++plan.sequences;
    left -= plan.kv_bytes_per_sequence;
  }
  const uint64_t wanted = ExpertBytesWanted(inputs, options);
  plan.expert_cache_bytes =
      std::max(plan.expert_cache_bytes, std::min(plan.expert_cache_bytes + left, wanted));
  plan.reads_bytes =
      ExpertStore::RoomForReads(plan.expert_cache_bytes, inputs.expert_bytes,
                                inputs.largest_expert_bytes, DecodeExperts(config, plan.sequences));
  return plan;
}

}  // namespace coli
