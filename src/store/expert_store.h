// Experts between drive and arithmetic: a batch of them is asked for, those that are in memory come
// at once, the others when they arrive.
//
// Three kinds of experts share one budget of memory: residents, which stay (expert_cache.h decides
// which); those that are being read, computed or waited for; and guesses, which are read ahead for
// the layer that comes next. Residents leave room for the other two, unless there is room for all
// experts. A guess never takes the place of a resident. Whether an expert that was read stays is
// decided when its last lease is given back.
//
// A Lease pins its slot: the bytes neither move nor change until it is destroyed. Identity is
// (layer, expert, generation), never an address: a recycled slot has another generation. Engine
// thread only.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fifo.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/result.h"
#include "store/cache_policy.h"
#include "store/expert_cache.h"
#include "store/expert_reader.h"
#include "store/lookahead.h"
#include "sys/io_engine.h"
#include "tensor/tensor_view.h"

namespace coli {

struct ExpertStoreOptions {
  ExpertReaderOptions reader;
  // Experts that one step of decoding asks a layer for, at most: what the room for reads is for.
  size_t batch_experts = 8;
  bool lookahead = true;
  // A batch fails when no read at all has been completed for so long.
  std::chrono::milliseconds patience = std::chrono::seconds(30);
};

// Counters since creation; all monotone.
struct ExpertStoreStats {
  uint64_t hits = 0;     // asked for and resident, or already on its way (not as a guess)
  uint64_t misses = 0;   // asked for and read, guesses included
  uint64_t dropped = 0;  // read, used, and worth less than the residents
  uint64_t evictions = 0;
  uint64_t bytes_read = 0;     // that were needed; guesses included
  uint64_t conversions = 0;    // experts that were converted after they had been read
  uint64_t wait_us = 0;        // the caller had nothing to compute and waited for a read
  uint64_t overlap_us = 0;     // the caller computed while reads were in flight
  uint64_t drive_us = 0;       // at least one read was at the drive
  uint64_t warmed = 0;         // experts read because they were useful in the past
  uint64_t warm_failures = 0;  // of them, that could not be read
  Lookahead::Counters lookahead;
};

// What the experts of a batch are asked for.
enum class Purpose : uint8_t {
  kDecode,  // for few tokens: gate and up of all are read before down of any, and come by themselves
  kAppend,  // for a prompt of moderate length
  // A long prompt asks for nearly all experts of each layer in turn: they take free room only, and
  // no more of it than their layer's share.
  kSweep,
};

class ExpertStore {
 public:
  // Pins one expert; move-only. Must not outlive the store.
  class Lease {
   public:
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    const FfnView& view() const;
    ExpertKey key() const;
    uint64_t generation() const;  // of the slot; another one after the slot was recycled

   private:
    friend class ExpertStore;
    Lease(ExpertStore* store, size_t slot);
    void Release();
    ExpertStore* store_;
    size_t slot_;
  };

  // Which matrices of an expert can be computed: all, or first gate and up and later down.
  enum class Part : uint8_t { kWhole, kGateUp, kDown };

  struct Ready {
    size_t index;  // into the ids given to Begin
    Part part;
    Lease lease;
    bool resident;  // was in memory when the batch began
  };

  // The extents of `directory` are those of an open Container that outlives the store.
  // Fails with kNotEnoughMemory when the budget has no room for one slot of the largest expert, or
  // the staging room none for the stored bytes of one (says how much it needs).
  static Result<std::unique_ptr<ExpertStore>> Create(const ExpertStoreOptions& options,
                                                     ExpertDirectory directory,
                                                     std::unique_ptr<IoEngine> io,
                                                     std::unique_ptr<CachePolicy> policy);
  ExpertStore(const ExpertStore&) = delete;
  ExpertStore& operator=(const ExpertStore&) = delete;
  ~ExpertStore();

  // The router's selection scores of all experts of a layer for one token, tokens in order; before
  // their experts are asked for.
  void OnRoute(LayerId layer, std::span<const float> scores) { cache_.OnRoute(layer, scores); }

  // Starts a batch: the experts of one layer, ascending and distinct. Abandons a batch that is not
  // finished. Reads for missing experts start at once, as many as there is room for; the others
  // start when leases are given back.
  void Begin(LayerId layer, std::span<const ExpertId> experts, Purpose purpose = Purpose::kAppend);
  // The next expert of the batch that can be computed, those in memory first, then in order of
  // arrival; for kDecode an expert may come twice, first kGateUp, later kDown (and both or kWhole
  // once more after kGateUp, when the read of down hangs and is made anew). Nothing when all
  // have been handed out. Works with a single slot, if every lease is destroyed before the next
  // call. Errors: a failed read after ExpertReader::kMaxTries tries (kIo, kCorrupt; names layer,
  // expert, file, offset), kIo when the drive does not answer, kCorrupt for numbers that are not
  // finite or scales < 0, kNotEnoughMemory when all slots are pinned by leases (says what would
  // suffice). After an error the batch is over; the store stays usable.
  Result<std::optional<Ready>> Next();

  // Next would hand out an expert at once, and none of the batch waits for a lease to be given
  // back: leases may be collected and the experts computed together.
  bool MayCollect() const { return !ready_.empty() && waiting_.empty() && !error_; }

  // Whether a guess is worth making: something was missed lately, and guessing has paid.
  bool WantsGuesses() const;
  // Experts that `layer`, which comes after the batch's, will likely ask for, best first: read
  // while there is room and the drive has nothing else to do. A better guess for the same layer
  // replaces an earlier one.
  void Guess(LayerId layer, std::span<const ExpertId> ranked);

  // Experts to read into free room while the drive has nothing else to do, best first. One that
  // cannot be read is left to who asks for it; after kMaxWarmFailures, or when the system has no
  // memory, so are all that are left.
  static constexpr uint64_t kMaxWarmFailures = 3;
  void Warm(std::vector<ExpertKey> keys);
  // Why the first one that failed since the last call did.
  std::optional<Error> TakeWarmingError() { return std::exchange(warming_error_, std::nullopt); }
  // Experts still to be warmed, those on their way included. Somebody must call Pump now and then
  // while there are any.
  size_t left_to_warm() const { return warm_.size() - next_warm_ + warming_; }
  // Of the experts to be warmed that there is room for, and of those that are there. Thread-safe.
  struct WarmBytes {
    uint64_t done;
    uint64_t total;
  };
  WarmBytes warm_bytes() const { return {warm_done_bytes_, warm_total_bytes_}; }
  // Takes in what has arrived and starts what can be started; never blocks.
  void Pump();

  // Another budget, at least that of one expert: experts that are too many leave at once, those in
  // use when they are given back.
  void SetBudget(uint64_t bytes);
  uint64_t budget_bytes() const { return reader_.budget_bytes(); }
  uint64_t least_budget_bytes() const { return sizes_.largest; }

  ExpertStoreStats stats() const;
  const ExpertCache& cache() const { return cache_; }
  // Experts that fit at once into the first budget, if all are of the commonest size; and of all
  // sizes what the largest one takes.
  size_t slots() const { return slots_; }
  uint64_t slot_bytes() const { return sizes_.largest; }
  // Slots that hold an expert or wait for one.
  size_t used_slots() const { return reader_.used_slots(); }
  // Memory taken now; at most the budget and the staging room.
  uint64_t held_bytes() const { return reader_.held_bytes(); }
  const IoEngine& io() const { return reader_.io(); }

  // Of a budget, what residents leave for reads and guesses. 0 where all experts fit, and where
  // there are too few places to set some apart: then residents make way.
  static uint64_t RoomForReads(uint64_t budget_bytes, uint64_t all_experts_bytes,
                               uint64_t largest_expert_bytes, size_t batch_experts);

 private:
  // Who wants the expert of a slot.
  struct Use {
    size_t leases = 0;
    std::optional<size_t> batch_index;  // of the current batch, and not handed out yet
    bool half_handed_out = false;
    bool failed = false;               // what was handed out before the error may still be leased
    std::optional<size_t> guess_rank;  // read ahead for guess_layer_
    bool warming = false;              // read because it was useful in the past, and on its way
    bool warmed = false;               // the same, arrived
  };
  // Since an expert was handed out while reads were in flight.
  struct Computing {
    std::chrono::steady_clock::time_point since;
    uint64_t io_busy_us;
  };

  // What experts take in memory, added up once.
  struct Sizes {
    explicit Sizes(const std::vector<std::vector<uint64_t>>& costs);
    uint64_t all = 0;
    uint64_t largest = 0;
    uint64_t common = 0;  // of most of them
    size_t experts = 0;
    size_t widest_layer = 0;  // experts
  };

  ExpertStore(const ExpertStoreOptions& options, ExpertDirectory directory,
              std::unique_ptr<IoEngine> io, std::unique_ptr<CachePolicy> policy);

  // What residents may take of a budget.
  uint64_t CapacityOf(uint64_t budget) const;
  ExpertKey BatchKey(size_t index) const { return {layer_, batch_[index]}; }
  bool InBatch(ExpertKey key) const;
  bool IsNeeded(ExpertKey key) const;  // leased or to be handed out
  // Experts in memory or on their way that are not residents.
  size_t transients() const { return reader_.used_slots() - cache_.residents(); }
  size_t SweepPlaces() const { return std::max<size_t>(2 * options_.batch_experts, 8); }

  void Ask(size_t index);
  void Abandon();
  void Arrive(const ExpertReader::Arrival& arrival);
  void WaitForArrival();
  void Complete(size_t slot, size_t index);
  Ready HandOut();
  void CountOverlap();

  void StartReads();
  void ContinueStarted();
  Result<std::optional<size_t>> Start(ExpertKey key, Urgency urgency);
  bool EvictForRead();
  void Settle(size_t slot);
  void VacateVictims();
  void ChooseForSweep();
  Error NoRoom();
  Error NoAnswer();

  void JudgeGuesses(LayerId layer);
  void ForgetGuess(size_t slot);
  void DropGuesses(FunctionRef<bool(ExpertId)> which);
  void DropGuess(size_t slot);
  bool DropOneGuess();
  void WarmMore();
  void CountWarmFailure(const Error& error);
  void EndWarming();
  void StopWarming(size_t slot, bool arrived = false);
  void CountWarm(uint64_t bytes);

  const ExpertStoreOptions options_;
  ExpertReader reader_;
  const Sizes sizes_;
  ExpertCache cache_;
  Lookahead lookahead_;
  size_t slots_ = 0;

  std::vector<Use> uses_;  // by slot of the reader

  // The batch.
  LayerId layer_{0};
  Purpose purpose_ = Purpose::kAppend;
  std::vector<ExpertId> batch_;
  std::vector<uint64_t> asked_in_;  // by expert: the number of the last batch that asked for it
  uint64_t batch_number_ = 0;
  std::vector<bool> sweep_keeps_;                      // by expert: may take free room
  std::vector<std::pair<double, ExpertId>> by_worth_;  // for choosing them
  // Can be handed out: indices into batch_.
  struct ReadyPart {
    size_t index;
    Part part;
    bool resident = false;
  };
  Fifo<ReadyPart> ready_;
  Fifo<size_t> waiting_;  // have no slot yet
  size_t reading_ = 0;    // are on their way
  std::optional<Error> error_;
  std::vector<size_t> started_;  // slots whose reads are to be continued
  std::vector<ExpertKey> victims_;
  std::optional<Computing> computing_;

  std::optional<LayerId> guess_layer_;
  LayerId guess_from_{0};
  std::vector<size_t> guesses_;  // slots
  uint64_t last_miss_batch_ = 0;

  std::vector<ExpertKey> warm_;
  size_t next_warm_ = 0;
  size_t warming_ = 0;          // being read
  uint64_t warm_failures_ = 0;  // since Warm was called
  std::optional<Error> warming_error_;
  std::atomic<uint64_t> warm_done_bytes_ = 0;
  std::atomic<uint64_t> warm_total_bytes_ = 0;

  ExpertStoreStats stats_;
};

}  // namespace coli
