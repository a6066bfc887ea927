// Experts between disk and arithmetic: slots inside one byte budget, filled by asynchronous reads.
// Experts that are to be held otherwise than they are stored are read beside their slot and
// converted into it, each time they are read.
//
// A Lease pins its slot: the bytes neither move nor change until it is destroyed. Identity is
// (layer, expert, generation), never an address: a recycled slot has another generation. Engine
// thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/cache_policy.h"
#include "store/container.h"
#include "store/expert_layout.h"
#include "store/slot_buffers.h"
#include "sys/io_engine.h"
#include "sys/thread_pool.h"
#include "tensor/tensor_view.h"

namespace coli {

// All experts of a model: by layer id (layers without experts are empty), then by expert id.
using ExpertDirectory = std::vector<std::vector<ExpertRecord>>;

struct ExpertStoreOptions {
  uint64_t budget_bytes = 0;  // for all slots together; each counts what its own expert takes
  std::optional<size_t> max_experts;  // an upper bound on slots, for experiments; at least 1
  // For directories with experts that convert: room for their stored bytes while they are read, and
  // the threads that convert them; these outlive the store.
  uint64_t staging_bytes = 0;
  ThreadPool* pool = nullptr;
};

// Counters since creation; all monotone.
struct ExpertStoreStats {
  uint64_t hits = 0;    // asked for and resident, or already on its way
  uint64_t misses = 0;  // asked for and read
  uint64_t bytes_read = 0;
  uint64_t wait_us = 0;  // time the caller had nothing to compute and waited for a read
  uint64_t evictions = 0;
  uint64_t conversions = 0;  // experts that were converted after they had been read
};

class ExpertStore {
 public:
  // Pins one resident expert; move-only. Must not outlive the store.
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

  struct Ready {
    size_t index;  // into the ids given to Begin
    Lease lease;
  };

  static constexpr unsigned kMaxTries = 3;  // of one read

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

  // What one expert takes of the budget, and of the staging room: 0 unless it converts.
  static uint64_t SlotBytes(const ExpertRecord& record);
  static uint64_t StagingBytes(const ExpertRecord& record);

  // Starts a batch: the experts of one layer, ascending and distinct. Abandons a batch that is not
  // finished. Reads for missing experts start at once, as many as free or evictable slots allow;
  // the others start when leases are given back.
  void Begin(LayerId layer, std::span<const ExpertId> experts);
  // The next expert of the batch that can be computed, residents first, then in order of arrival;
  // nothing when all have been handed out. Works with a single slot, if every lease is destroyed
  // before the next call. Errors: a failed read after kMaxTries tries (kIo, kCorrupt; names layer,
  // expert, file, offset), kCorrupt for numbers that are not finite or scales < 0, kNotEnoughMemory
  // when all slots are pinned by leases (says what would suffice). After an error the batch is
  // over; the store stays usable.
  Result<std::optional<Ready>> Next();

  // Next would hand out an expert at once, and none of the batch waits for a lease to be given
  // back: leases may be collected and the experts computed together.
  bool MayCollect() const { return !ready_.empty() && waiting_.empty() && !error_; }

  const ExpertStoreStats& stats() const { return stats_; }
  // Experts that fit at once, if all are of the commonest size; and of all sizes what the largest
  // one takes.
  size_t slots() const { return slots_; }
  uint64_t slot_bytes() const { return slot_bytes_; }
  // Memory taken now; at most the budget and the staging room.
  uint64_t held_bytes() const { return buffers_.held_bytes() + staging_.held_bytes(); }
  const IoEngine& io() const { return *io_; }

 private:
  struct Slot;

  ExpertStore(const ExpertStoreOptions& options, ExpertDirectory directory,
              std::unique_ptr<IoEngine> io, std::unique_ptr<CachePolicy> policy);

  const ExpertRecord& Record(ExpertKey key) const;
  size_t& SlotOf(ExpertKey key);
  ExpertKey BatchKey(size_t index) const { return {layer_, batch_[index]}; }
  bool IsPinned(ExpertKey key);

  void Abandon();
  // Where an expert goes: its slot's buffer, and where its stored bytes do if it converts.
  struct Room {
    AlignedBuffer slot;
    AlignedBuffer staging;
  };
  void StartReads();
  Result<std::optional<Room>> FindRoom(const ExpertRecord& record);
  Result<std::optional<AlignedBuffer>> FindSlot(uint64_t bytes);
  void StartExpert(size_t index, Room room);
  void SubmitRead(size_t slot, size_t read);
  void Vacate(size_t slot);
  void Complete(const ReadCompletion& completion);
  void Finish(size_t slot);
  Status MakeView(Slot& slot);
  void WaitForArrival();
  Error NoRoom();
  Ready HandOut();

  ExpertDirectory directory_;
  std::unique_ptr<CachePolicy> policy_;
  SlotBuffers buffers_;
  SlotBuffers staging_;
  ThreadPool* const pool_;
  std::optional<size_t> max_experts_;
  size_t slots_ = 0;
  uint64_t slot_bytes_ = 0;

  std::vector<std::unique_ptr<Slot>> table_;
  std::vector<size_t> vacant_;                // indices into table_
  std::vector<std::vector<size_t>> slot_of_;  // by layer and expert; kNoSlot

  // The batch.
  LayerId layer_{0};
  std::vector<ExpertId> batch_;
  std::deque<size_t> ready_;    // indices into batch_: can be handed out
  std::deque<size_t> waiting_;  // have no slot yet
  size_t reading_ = 0;          // are on their way
  std::optional<Error> error_;

  ExpertStoreStats stats_;
  std::unique_ptr<IoEngine> io_;  // last: its reads end before their buffers do
};

}  // namespace coli
