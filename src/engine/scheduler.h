// Decides which rows the next step computes, and turns its logits into tokens: continuous batching
// of prefill slices and decode rows. The only caller of the forward pass. Engine thread only.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "engine/loaded_model.h"
#include "engine/sampler.h"
#include "engine/sequence.h"

namespace coli {

// What one sequence contributes to a step.
struct Slice {
  Sequence* sequence;
  uint32_t rows;
};

// Prompt rows of one step while somebody reads an answer, who gets a token per step.
inline constexpr uint32_t kPrefillRowsBesideDecoding = 256;

// Every decoding sequence that is not stalled gets its row; prefill slices share `prefill_rows` in
// order of admission, at most kPrefillRowsBesideDecoding when there is a decoding sequence. Pure.
std::vector<Slice> ChooseSlices(std::span<const std::unique_ptr<Sequence>> running,
                                uint32_t prefill_rows);

class Scheduler {
 public:
  // `model` must outlive the scheduler.
  explicit Scheduler(LoadedModel& model);

  void Enqueue(std::unique_ptr<Sequence> sequence);
  // Admits what fits, drops what was cancelled, computes one step. False when there was nothing to
  // compute.
  bool Step();
  const DecodeWork& decode_work() const { return decode_work_; }
  bool idle() const { return waiting_.empty() && running_.empty(); }
  // Ends every request: cancelled.
  void CancelAll();
  // Ends every request with this error.
  void FailAll(const Error& error);

 private:
  void DropCancelled();
  void Admit();
  // False: not yet. Errors: the system has no memory for a cache.
  Result<bool> TryStart(Sequence& sequence);
  Result<bool> TakeCache(const SessionHandle& session);
  void RunSlices(const std::vector<Slice>& slices);
  // One pass of the model, its time taken.
  Result<StepResult> Compute(Batch batch, bool in_prefill);
  void CountDecoding(const ResidentWork& resident, double compute_s, uint64_t weight_bytes);
  EngineState State();
  void TakeTokens(const StepResult& result, const std::vector<Slice>& slices);
  void Remove(const Sequence* sequence);

  LoadedModel& model_;
  SamplerScratch sampler_;
  WorkTimes work_;
  DecodeWork decode_work_;
  std::list<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;
  std::vector<std::weak_ptr<Session>> with_cache_;  // sessions that hold a KV cache
  uint64_t clock_ = 0;                              // admissions so far
};

}  // namespace coli
