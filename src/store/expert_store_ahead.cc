// The reads of an ExpertStore that nobody waits for: guesses for the next layer, and experts that
// were useful in earlier runs.
#include <algorithm>

#include "store/expert_store.h"

namespace coli {
namespace {

// Batches after a miss for which guesses are made: when all that is asked for is resident, there is
// nothing to guess.
constexpr uint64_t kGuessAfterMiss = 512;
// Experts that are warmed at the same time: enough to keep a drive busy, few enough to make way.
constexpr size_t kWarmAtOnce = 2;

}  // namespace

// --- guesses ---

bool ExpertStore::WantsGuesses() const {
  return lookahead_.on() && purpose_ != Purpose::kSweep && last_miss_batch_ != 0 &&
         batch_number_ - last_miss_batch_ <= kGuessAfterMiss;
}

void ExpertStore::Guess(LayerId layer, std::span<const ExpertId> ranked) {
  if (guess_layer_ && *guess_layer_ != layer) {
    DropGuesses([](ExpertId) { return true; });
  }
  guess_layer_ = layer;
  guess_from_ = layer_;
  DropGuesses([&](ExpertId id) { return std::ranges::find(ranked, id) == ranked.end(); });
  for (size_t rank = 0; rank < ranked.size(); ++rank) {
    const ExpertKey key{layer, ranked[rank]};
    if (reader_.Find(key)) {
      continue;
    }
    if (guesses_.size() >= std::max<size_t>(1, options_.batch_experts / 2)) {
      return;
    }
    const auto slot = Start(key, Urgency::kAhead);
    if (!slot || !*slot) {
      return;  // no room: guesses take what is free, and an error will be met by who needs memory
    }
    reader_.Continue(**slot, Urgency::kAhead);
    uses_[**slot].guess_rank = rank;
    guesses_.push_back(**slot);
  }
}

// The experts of `layer` were asked for.
void ExpertStore::JudgeGuesses(LayerId layer) {
  if (purpose_ != Purpose::kSweep) {
    lookahead_.NextLayer();
  }
  if (guess_layer_ && layer != guess_from_) {  // another part of a layer's batch comes before
    DropGuesses([](ExpertId) { return true; });
    guess_layer_.reset();
  }
}

void ExpertStore::ForgetGuess(size_t slot) {
  uses_[slot].guess_rank.reset();
  std::erase(guesses_, slot);
}

void ExpertStore::DropGuesses(FunctionRef<bool(ExpertId)> which) {
  for (size_t i = guesses_.size(); i > 0; --i) {
    if (which(reader_.key(guesses_[i - 1]).expert)) {
      DropGuess(guesses_[i - 1]);
    }
  }
}

// One that has come is offered to the cache: its bytes are paid for.
void ExpertStore::DropGuess(size_t slot) {
  const size_t rank = *uses_[slot].guess_rank;
  ForgetGuess(slot);
  if (reader_.loaded(slot)) {
    lookahead_.Wasted(rank, 0);
    Settle(slot);
  } else {
    lookahead_.Wasted(rank, reader_.Cancel(slot));
  }
}

// For a read that is waited for. False: no guess has a place that it could give.
bool ExpertStore::DropOneGuess() {
  for (size_t i = guesses_.size(); i > 0; --i) {
    const size_t slot = guesses_[i - 1];
    if (reader_.loaded(slot)) {
      DropGuess(slot);
      return true;
    }
  }
  return false;
}

// --- warming ---

void ExpertStore::Warm(std::vector<ExpertKey> keys) {
  warm_ = std::move(keys);
  next_warm_ = 0;
  warm_failures_ = 0;
  const uint64_t room =
      cache_.capacity_bytes() - std::min(cache_.capacity_bytes(), cache_.resident_bytes());
  uint64_t total = 0;
  for (const ExpertKey key : warm_) {
    const uint64_t cost = ExpertReader::SlotBytes(reader_.Record(key));
    if (cost > room - total) {
      break;
    }
    total += cost;
  }
  warm_done_bytes_ = 0;
  warm_total_bytes_ = total;
  WarmMore();
}

// Room that others took before it could be warmed is not waited for.
void ExpertStore::CountWarm(uint64_t bytes) {
  const uint64_t total = warm_total_bytes_;
  warm_done_bytes_ = left_to_warm() == 0 ? total : std::min(total, warm_done_bytes_ + bytes);
}

void ExpertStore::EndWarming() {
  next_warm_ = warm_.size();
  CountWarm(0);
}

void ExpertStore::WarmMore() {
  while (next_warm_ < warm_.size() && warming_ < kWarmAtOnce && waiting_.empty()) {
    const ExpertKey key = warm_[next_warm_];
    const uint64_t cost = ExpertReader::SlotBytes(reader_.Record(key));
    if (reader_.Find(key)) {
      ++next_warm_;
      CountWarm(cost);
      continue;
    }
    const bool fits = cache_.resident_bytes() + (warming_ + 1) * cost <= cache_.capacity_bytes();
    if (!fits) {
      return EndWarming();
    }
    const auto slot = Start(key, Urgency::kAhead);
    if (!slot) {
      CountWarmFailure(slot.error());
      return EndWarming();
    }
    if (!*slot) {
      // Where the number of experts is limited, too, there may be no place although there is room.
      return reader_.slots_being_read() == 0 ? EndWarming() : void();
    }
    reader_.Continue(**slot, Urgency::kAhead);
    ++next_warm_;
    ++warming_;
    uses_[**slot].warming = true;
  }
}

// A drive that fails is not tried with every expert of the list.
void ExpertStore::CountWarmFailure(const Error& error) {
  ++stats_.warm_failures;
  if (!warming_error_) {
    warming_error_ = error;
  }
  if (++warm_failures_ >= kMaxWarmFailures) {
    EndWarming();
  }
}

// The slot's expert arrived, failed, or is asked for.
void ExpertStore::StopWarming(size_t slot, bool arrived) {
  Use& use = uses_[slot];
  if (use.warming) {
    use.warming = false;
    use.warmed = arrived;
    --warming_;
    CountWarm(reader_.cost(slot));
    stats_.warmed += arrived ? 1U : 0U;
  }
}

}  // namespace coli
