// Brings experts from the drive into memory: a slot for each expert that is in memory or on its
// way, the reads that fill it, tries after failures, checks, conversion.
//
// Knows nothing of who wants an expert or which ones stay (expert_store.h). Experts that are held
// otherwise than they are stored are read beside their slot and converted into it, each time they
// are read. Engine thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/cache_policy.h"
#include "store/expert_layout.h"
#include "store/slot_buffers.h"
#include "sys/io_engine.h"
#include "sys/thread_pool.h"
#include "tensor/tensor_view.h"

namespace coli {

// All experts of a model: by layer id (layers without experts are empty), then by expert id.
using ExpertDirectory = std::vector<std::vector<ExpertRecord>>;

struct ExpertReaderOptions {
  uint64_t budget_bytes = 0;  // for all slots together; each counts what its own expert takes
  std::optional<size_t> max_experts;  // an upper bound on slots, for experiments; at least 1
  // For directories with experts that convert: room for their stored bytes while they are read, and
  // the threads that convert them; these outlive the reader.
  uint64_t staging_bytes = 0;
  ThreadPool* pool = nullptr;
  // Memory of experts that are no longer here is overwritten, so that a stale view shows.
  bool poison = SlotBuffers::kPoisonByDefault;
};

// "layer 3, expert 7", for errors.
std::string Describe(ExpertKey key);

class ExpertReader {
 public:
  static constexpr unsigned kMaxTries = 3;  // of one read

  // An expert of which gate and up can be computed: they and all scales are here. Or one whose
  // reads have all ended. With an error (kIo, kCorrupt; kCancelled after Cancel, and where a read
  // was given up because it hangs: starting anew may help; names layer, expert, file, offset) its
  // slot holds nothing of use and waits to be vacated.
  struct Arrival {
    size_t slot;
    ExpertKey key;
    bool complete;
    bool cancelled;              // Cancel was called, perhaps too late
    std::optional<Error> error;  // of a complete one
  };

  ExpertReader(const ExpertReaderOptions& options, ExpertDirectory directory,
               std::unique_ptr<IoEngine> io);
  ExpertReader(const ExpertReader&) = delete;
  ExpertReader& operator=(const ExpertReader&) = delete;
  ~ExpertReader();

  // What one expert takes of the budget, and of the staging room: 0 unless it converts.
  static uint64_t SlotBytes(const ExpertRecord& record);
  static uint64_t StagingBytes(const ExpertRecord& record);

  const ExpertDirectory& directory() const { return directory_; }
  const ExpertRecord& Record(ExpertKey key) const;

  // The slot of an expert that is here or on its way.
  std::optional<size_t> Find(ExpertKey key) const;
  // Starts to read an expert that has no slot: what comes before its down matrix, if that is read
  // apart. The rest follows with Continue, which the caller owes before it waits, polls or
  // cancels: so gate and up of several experts can come before down of any. Nothing while the
  // budget or the staging room has no place for it: vacate a slot, or wait for an arrival. Errors:
  // kNotEnoughMemory when the system has no memory although the budget has.
  Result<std::optional<size_t>> Start(ExpertKey key, Urgency urgency);
  void Continue(size_t slot, Urgency urgency);
  // A slot that is being read ahead is now waited for.
  void Promote(size_t slot);
  // Takes back the slot's reads that have not begun; gives the bytes of those that have and are not
  // complete. The expert arrives when they are.
  uint64_t Cancel(size_t slot);
  // An expert that has arrived, if there is one; Wait blocks until one arrives, until no read is
  // left, or until no read has been completed for as long as `patience`.
  std::optional<Arrival> Poll();
  std::optional<Arrival> Wait(std::chrono::milliseconds patience);
  // Forgets the expert of a slot that has arrived; its memory takes another.
  void Vacate(size_t slot);

  bool loaded(size_t slot) const;
  bool cancelled(size_t slot) const;    // Cancel was called, and it has not arrived yet
  bool half_loaded(size_t slot) const;  // gate, up and all scales; the view is valid for them
  ExpertKey key(size_t slot) const;
  uint64_t generation(size_t slot) const;  // another one for every expert in this slot
  const FfnView& view(size_t slot) const;  // of a loaded one
  // What a slot counts against the budget.
  uint64_t cost(size_t slot) const;
  uint64_t arrived_bytes(size_t slot) const;  // of the expert

  // Slots that were ever used: all slot numbers are below this.
  size_t slots() const { return table_.size(); }
  size_t used_slots() const { return table_.size() - vacant_.size(); }
  size_t slots_being_read() const { return being_read_; }
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t conversions() const { return conversions_; }
  uint64_t budget_bytes() const { return buffers_.budget_bytes(); }
  // A smaller budget takes effect as slots are vacated.
  void SetBudget(uint64_t bytes) { buffers_.SetBudget(bytes); }
  // Memory taken now; at most the budget and the staging room.
  uint64_t held_bytes() const { return buffers_.held_bytes() + staging_.held_bytes(); }
  IoEngine& io() { return *io_; }
  const IoEngine& io() const { return *io_; }

 private:
  struct Slot;
  // Where an expert goes: its slot's buffer, and where its stored bytes do if it converts.
  struct Room {
    AlignedBuffer slot;
    AlignedBuffer staging;
  };

  Result<std::optional<Room>> FindRoom(const ExpertRecord& record);
  size_t SubmitHalf(size_t slot, bool only_down, Urgency urgency);
  void SubmitPiece(size_t slot, size_t piece, Urgency urgency);
  std::optional<Arrival> Complete(const ReadCompletion& completion);
  bool FinishFirstHalf(Slot& slot);
  Arrival Finish(size_t slot);
  Status MakeView(Slot& slot);

  ExpertDirectory directory_;
  SlotBuffers buffers_;
  SlotBuffers staging_;
  ThreadPool* const pool_;

  std::vector<std::unique_ptr<Slot>> table_;
  std::vector<size_t> vacant_;                // indices into table_
  std::vector<std::vector<size_t>> slot_of_;  // by layer and expert; kNoSlot
  size_t being_read_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t conversions_ = 0;
  std::unique_ptr<IoEngine> io_;  // last: its reads end before their buffers do
};

}  // namespace coli
