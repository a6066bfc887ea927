#include "engine/scheduler.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace coli {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// What reads and guesses came to so far; it has no seconds of steps.
StepWork WorkOf(const ExpertStoreStats& stats) {
  const auto seconds = [](uint64_t us) { return static_cast<double>(us) * 1e-6; };
  const auto sum = [](const auto& by_rank) {
    return std::accumulate(by_rank.begin(), by_rank.end(), uint64_t{0});
  };
  return {.wait_s = seconds(stats.wait_us),
          .overlap_s = seconds(stats.overlap_us),
          .drive_s = seconds(stats.drive_us),
          .expert_hits = stats.hits,
          .expert_misses = stats.misses,
          .bytes_read = stats.bytes_read,
          .guesses_used = sum(stats.lookahead.useful),
          .guesses_wasted = sum(stats.lookahead.wasted)};
}

}  // namespace

std::vector<Slice> ChooseSlices(std::span<const std::unique_ptr<Sequence>> running,
                                uint32_t prefill_rows) {
  std::vector<Slice> slices;
  const auto decodes = [](const std::unique_ptr<Sequence>& sequence) {
    return !sequence->in_prefill() && !sequence->stalled();
  };
  if (std::ranges::any_of(running, decodes)) {
    prefill_rows = std::min(prefill_rows, kPrefillRowsBesideDecoding);
  }
  for (const std::unique_ptr<Sequence>& sequence : running) {
    if (!sequence->in_prefill()) {
      if (decodes(sequence)) {
        slices.push_back({sequence.get(), 1});
      }
      continue;
    }
    const uint32_t rows = std::min(sequence->pending(), prefill_rows);
    if (rows > 0) {
      slices.push_back({sequence.get(), rows});
      prefill_rows -= rows;
    }
  }
  return slices;
}

Scheduler::Scheduler(LoadedModel& model)
    : model_(model), sampler_(model.config().vocab_size, model.kernels().vector.softmax) {}

void Scheduler::Enqueue(std::unique_ptr<Sequence> sequence) {
  waiting_.push_back(std::move(sequence));
}

bool Scheduler::Step() {
  DropCancelled();
  Admit();
  const std::vector<Slice> slices = ChooseSlices(running_, model_.plan().prefill_rows);
  if (slices.empty()) {
    return false;
  }
  RunSlices(slices);
  return true;
}

void Scheduler::CancelAll() {
  for (const auto& sequence : waiting_) {
    sequence->stream().Cancel();
  }
  for (const auto& sequence : running_) {
    sequence->stream().Cancel();
  }
  DropCancelled();
}

void Scheduler::FailAll(const Error& error) {
  for (const auto& sequence : waiting_) {
    sequence->Fail(error);
  }
  waiting_.clear();
  for (const auto& sequence : running_) {
    sequence->Fail(error);
  }
  running_.clear();
}

void Scheduler::DropCancelled() {
  const auto drop = [&](const std::unique_ptr<Sequence>& sequence) {
    if (!sequence->stream().cancelled()) {
      return false;
    }
    sequence->Finish(FinishReason::kCancelled, State());
    return true;
  };
  waiting_.remove_if(drop);
  std::erase_if(running_, drop);
}

// First come, first served, except that a busy session's next request waits for it without
// blocking the others.
void Scheduler::Admit() {
  for (auto it = waiting_.begin();
       it != waiting_.end() && running_.size() < model_.plan().sequences;) {
    const Result<bool> started = TryStart(**it);
    if (started && !*started) {
      ++it;
      continue;
    }
    if (started) {
      running_.push_back(std::move(*it));
    } else {
      (*it)->Fail(started.error());
    }
    it = waiting_.erase(it);
  }
}

Result<bool> Scheduler::TryStart(Sequence& sequence) {
  Session& session = sequence.session();
  if (session.busy) {
    return false;
  }
  if (!session.cache) {
    COLI_ASSIGN_OR_RETURN(const bool taken, TakeCache(sequence.shared_session()));
    if (!taken) {
      return false;
    }
  }
  session.last_use = ++clock_;
  sequence.Start(State());
  return true;
}

// Gives `session` a cache; when all are out, the one of the conversation that was idle for longest.
Result<bool> Scheduler::TakeCache(const SessionHandle& session) {
  std::erase_if(with_cache_, [](const std::weak_ptr<Session>& held) {
    const std::shared_ptr<Session> alive = held.lock();
    return !alive || !alive->cache;
  });
  if (with_cache_.size() < model_.plan().sequences) {
    COLI_ASSIGN_OR_RETURN(session->cache,
                          KvCache::Create(model_.config(), {.capacity = model_.plan().context,
                                                            .format = model_.plan().kv_format}));
    with_cache_.push_back(session);
    return true;
  }
  std::shared_ptr<Session> oldest;
  for (const std::weak_ptr<Session>& held : with_cache_) {
    std::shared_ptr<Session> candidate = held.lock();
    if (candidate && !candidate->busy && (!oldest || candidate->last_use < oldest->last_use)) {
      oldest = std::move(candidate);
    }
  }
  if (!oldest) {
    return false;
  }
  session->cache = std::move(oldest->cache);
  with_cache_.push_back(session);
  oldest->cache.reset();
  oldest->tokens.clear();
  return true;
}

void Scheduler::RunSlices(const std::vector<Slice>& slices) {
  Batch batch;
  for (const Slice& slice : slices) {
    Sequence& sequence = *slice.sequence;
    const auto index = static_cast<uint32_t>(batch.caches.size());
    batch.caches.push_back(&*sequence.session().cache);
    for (uint32_t i = 0; i < slice.rows; ++i) {
      const uint32_t position = sequence.computed() + i;
      batch.rows.push_back(
          {index, sequence.token(position), position, i + 1 == sequence.pending()});
    }
  }
  batch.cancelled = [&](uint32_t index) { return slices[index].sequence->stream().cancelled(); };
  const bool in_prefill =
      std::ranges::any_of(slices, [](const Slice& slice) { return slice.sequence->in_prefill(); });
  const Result<StepResult> result = Compute(std::move(batch), in_prefill);
  if (result) {
    return TakeTokens(*result, slices);
  }
  if (slices.size() == 1) {
    slices[0].sequence->Fail(result.error());
    return Remove(slices[0].sequence);
  }
  for (const Slice& slice : slices) {  // alone, so that only those fail that meet the error again
    RunSlices({slice});
  }
}

Result<StepResult> Scheduler::Compute(Batch batch, bool in_prefill) {
  const StepWork before = WorkOf(model_.experts().stats());
  const ResidentWork resident_before = model_.forward().scratch().plan.resident_work();
  const Clock::time_point start = Clock::now();
  Result<StepResult> result = model_.forward().Run(std::move(batch));
  StepWork work = WorkOf(model_.experts().stats()) - before;
  work.seconds = Seconds(Clock::now() - start);
  StepWork& sum = in_prefill ? work_.prefill : work_.decode;
  sum = sum + work;
  const uint64_t bytes =
      model_.step_weight_bytes() + work.expert_uses() * model_.mean_expert_bytes();
  work_.weight_bytes += bytes;
  if (!in_prefill) {
    CountDecoding(model_.forward().scratch().plan.resident_work() - resident_before,
                  work.seconds - work.wait_s, bytes);
  }
  return result;
}

void Scheduler::CountDecoding(const ResidentWork& resident, double compute_s,
                              uint64_t weight_bytes) {
  decode_work_.resident_s += resident.seconds;
  decode_work_.resident_bytes += resident.bytes;
  decode_work_.other_s += std::max(0.0, compute_s - resident.seconds);
  decode_work_.other_bytes += weight_bytes - std::min(weight_bytes, resident.bytes);
}

EngineState Scheduler::State() {
  const ExpertStore& experts = model_.experts();
  return {.work = work_,
          .memory_bytes_per_s = model_.memory_bytes_per_s(),
          .cache_bytes = experts.held_bytes(),
          .cache_budget_bytes = experts.budget_bytes()};
}

void Scheduler::TakeTokens(const StepResult& result, const std::vector<Slice>& slices) {
  size_t row = 0;  // of the result; rows appear in the order of the slices
  for (size_t i = 0; i < slices.size(); ++i) {
    Sequence& sequence = *slices[i].sequence;
    const bool has_logits = row < result.rows.size() && result.rows[row].sequence == i;
    const std::span<const float> logits(result.logits.row(row),
                                        has_logits ? result.logits.cols : 0);
    row += has_logits ? 1 : 0;
    if (sequence.stream().cancelled()) {
      continue;  // its rows may be missing from some layers: not counted; DropCancelled closes it
    }
    sequence.Advance(slices[i].rows);
    if (!has_logits) {
      continue;
    }
    const Clock::time_point start = Clock::now();
    const Result<TokenId> token =
        Sample(logits, sequence.sampling(), sequence.generated(), sampler_);
    work_.sampling_s += Seconds(Clock::now() - start);
    if (!token) {
      sequence.Fail(token.error());
      Remove(&sequence);
    } else if (sequence.Accept(*token, sequence.IsStop(*token, model_.config().eos_tokens),
                               model_.plan().context)) {
      sequence.Finish(sequence.reason(), State());
      Remove(&sequence);
    }
  }
}

void Scheduler::Remove(const Sequence* sequence) {
  std::erase_if(running_,
                [&](const std::unique_ptr<Sequence>& held) { return held.get() == sequence; });
}

}  // namespace coli
