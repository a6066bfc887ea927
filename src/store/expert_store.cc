#include "store/expert_store.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"
#include "store/conversion.h"
#include "store/finite.h"

namespace coli {
namespace {

constexpr size_t kNoSlot = std::numeric_limits<size_t>::max();

size_t Index(LayerId layer) { return static_cast<size_t>(Raw(layer)); }
size_t Index(ExpertId expert) { return static_cast<size_t>(Raw(expert)); }

std::string Describe(ExpertKey key) {
  return fmt::format("layer {}, expert {}", Raw(key.layer), Raw(key.expert));
}

// Of an expert's slot.
uint64_t BufferBytes(const ExpertRecord& record) {
  return record.converts() ? HeldBytes(record) : ExpertLayout::BufferBytes(record);
}

// A read's tag: which slot, and which of its reads.
uint64_t TagOf(size_t slot, size_t read) { return slot * ExpertLayout::kMaxReads + read; }

// Every matrix is checked when it arrives: a NaN would spread over all that is computed from it,
// and nothing later could say where it came from. Floats that convert are checked when they do.
Status CheckMatrix(const WeightView& view, const StoredMatrix& stored) {
  if (view.scales != nullptr) {
    COLI_RETURN_IF_ERROR(CheckScales(view, Place(stored)));
  }
  const bool floats = Info(view.format).arithmetic == Arithmetic::kFloat;
  return floats && !stored.converts() ? CheckFloats(view, Place(stored)) : Ok();
}

Status CheckExpert(const FfnView& view, const ExpertRecord& record) {
  COLI_RETURN_IF_ERROR(CheckMatrix(view.gate, record.gate));
  COLI_RETURN_IF_ERROR(CheckMatrix(view.up, record.up));
  return CheckMatrix(view.down, record.down);
}

}  // namespace

// The life of a slot: vacant -> reading (buffer, no lease) -> resident (known to the policy) ->
// vacant. A slot leaves the reading state only when all its reads are complete, whatever became of
// the batch that wanted it.
struct ExpertStore::Slot {
  enum class State { kVacant, kReading, kResident };

  State state = State::kVacant;
  ExpertKey key{};
  uint64_t generation = 0;
  AlignedBuffer buffer;
  AlignedBuffer staging;  // while reading an expert that converts
  FfnView view;
  size_t leases = 0;
  std::optional<size_t> batch_index;  // wanted by the current batch and not handed out yet

  std::optional<ExpertLayout> layout;  // while reading
  size_t reads_left = 0;
  std::array<unsigned, ExpertLayout::kMaxReads> tries{};
  std::optional<Error> error;
};

// --- creation ---

Result<std::unique_ptr<ExpertStore>> ExpertStore::Create(const ExpertStoreOptions& options,
                                                         ExpertDirectory directory,
                                                         std::unique_ptr<IoEngine> io,
                                                         std::unique_ptr<CachePolicy> policy) {
  if (options.max_experts == size_t{0}) {
    return Fail(ErrorCode::kInvalidArgument,
                "expert cache: expected room for at least 1 expert, found 0");
  }
  for (size_t layer = 0; layer < directory.size(); ++layer) {
    for (size_t expert = 0; expert < directory[layer].size(); ++expert) {
      const uint64_t cost = SlotBytes(directory[layer][expert]);
      if (cost > options.budget_bytes) {
        return Fail(
            ErrorCode::kNotEnoughMemory,
            "expert cache: expected a budget of at least {} bytes (layer {}, expert {}), found {}",
            cost, layer, expert, options.budget_bytes);
      }
      const uint64_t staging = StagingBytes(directory[layer][expert]);
      if (staging > options.staging_bytes) {
        return Fail(
            ErrorCode::kNotEnoughMemory,
            "expert cache: expected at least {} bytes to read layer {}, expert {}, which is "
            "converted; found {}",
            staging, layer, expert, options.staging_bytes);
      }
      COLI_CHECK(staging == 0 || options.pool != nullptr);
    }
  }
  return std::unique_ptr<ExpertStore>(
      new ExpertStore(options, std::move(directory), std::move(io), std::move(policy)));
}

ExpertStore::ExpertStore(const ExpertStoreOptions& options, ExpertDirectory directory,
                         std::unique_ptr<IoEngine> io, std::unique_ptr<CachePolicy> policy)
    : directory_(std::move(directory)),
      policy_(std::move(policy)),
      buffers_(options.budget_bytes,
               options.max_experts.value_or(std::numeric_limits<size_t>::max())),
      staging_(options.staging_bytes, std::numeric_limits<size_t>::max()),
      pool_(options.pool),
      max_experts_(options.max_experts),
      io_(std::move(io)) {
  std::map<uint64_t, size_t> count_by_cost;
  std::vector<size_t> experts_by_layer;
  size_t experts = 0;
  for (const auto& layer : directory_) {
    slot_of_.emplace_back(layer.size(), kNoSlot);
    experts_by_layer.push_back(layer.size());
    experts += layer.size();
    for (const ExpertRecord& record : layer) {
      ++count_by_cost[SlotBytes(record)];
    }
  }
  if (!count_by_cost.empty()) {
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    const uint64_t common = std::ranges::max_element(count_by_cost, by_count)->first;
    const uint64_t by_bytes = common == 0 ? experts : options.budget_bytes / common;
    slots_ =
        std::min({experts, options.max_experts.value_or(experts), static_cast<size_t>(by_bytes)});
    slot_bytes_ = count_by_cost.rbegin()->first;
  }
  policy_->Prepare(experts_by_layer);
}

ExpertStore::~ExpertStore() = default;

uint64_t ExpertStore::SlotBytes(const ExpertRecord& record) {
  return SlotBuffers::Cost(BufferBytes(record));
}

uint64_t ExpertStore::StagingBytes(const ExpertRecord& record) {
  return record.converts() ? SlotBuffers::Cost(ExpertLayout::BufferBytes(record)) : 0;
}

const ExpertRecord& ExpertStore::Record(ExpertKey key) const {
  return directory_[Index(key.layer)][Index(key.expert)];
}

size_t& ExpertStore::SlotOf(ExpertKey key) { return slot_of_[Index(key.layer)][Index(key.expert)]; }

bool ExpertStore::IsPinned(ExpertKey key) {
  const Slot& slot = *table_[SlotOf(key)];
  return slot.leases > 0 || slot.batch_index.has_value();
}

// --- the batch ---

void ExpertStore::Begin(LayerId layer, std::span<const ExpertId> experts) {
  Abandon();
  COLI_CHECK(Index(layer) < directory_.size());
  COLI_CHECK(std::ranges::adjacent_find(experts, std::greater_equal<>{}) == experts.end());
  COLI_CHECK(experts.empty() ||
             (Raw(experts.front()) >= 0 && Index(experts.back()) < slot_of_[Index(layer)].size()));
  layer_ = layer;
  batch_.assign(experts.begin(), experts.end());
  for (size_t i = 0; i < batch_.size(); ++i) {
    const size_t index = SlotOf(BatchKey(i));
    if (index == kNoSlot) {
      waiting_.push_back(i);
      continue;
    }
    Slot& slot = *table_[index];
    slot.batch_index = i;
    ++stats_.hits;
    if (slot.state == Slot::State::kReading) {
      ++reading_;
    } else {
      policy_->OnUse(slot.key);
      ready_.push_back(i);
    }
  }
  StartReads();
}

// Reads on their way go on; their experts become residents that nobody waits for.
void ExpertStore::Abandon() {
  for (size_t i = 0; i < batch_.size(); ++i) {
    if (const size_t index = SlotOf(BatchKey(i)); index != kNoSlot) {
      table_[index]->batch_index.reset();
    }
  }
  batch_.clear();
  ready_.clear();
  waiting_.clear();
  reading_ = 0;
  error_.reset();
}

Result<std::optional<ExpertStore::Ready>> ExpertStore::Next() {
  while (auto completion = io_->Poll()) {
    Complete(*completion);
  }
  StartReads();
  if (ready_.empty() && !error_) {
    if (waiting_.empty() && reading_ == 0) {
      return std::nullopt;
    }
    WaitForArrival();
  }
  if (error_ || ready_.empty()) {
    Error error = error_ ? *std::move(error_) : NoRoom();
    Abandon();
    return tl::unexpected<Error>(std::move(error));
  }
  return HandOut();
}

void ExpertStore::WaitForArrival() {
  const auto start = std::chrono::steady_clock::now();
  while (ready_.empty() && !error_ && io_->in_flight() > 0) {
    if (const auto completion = io_->Wait(kClosePatience)) {
      Complete(*completion);
    }
    StartReads();  // a read that an earlier batch abandoned may have kept the last slot busy
  }
  const auto waited = std::chrono::steady_clock::now() - start;
  stats_.wait_us +=
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
}

ExpertStore::Ready ExpertStore::HandOut() {
  const size_t i = ready_.front();
  ready_.pop_front();
  const size_t index = SlotOf(BatchKey(i));
  table_[index]->batch_index.reset();
  return {i, Lease(this, index)};
}

Error ExpertStore::NoRoom() {
  COLI_CHECK(!waiting_.empty());
  const ExpertKey key = BatchKey(waiting_.front());
  uint64_t pinned_bytes = 0;
  size_t pinned = 0;
  for (const auto& slot : table_) {
    if (slot->leases > 0) {
      pinned_bytes += SlotBuffers::Cost(slot->buffer.size());
      ++pinned;
    }
  }
  const uint64_t minimum = pinned_bytes + SlotBytes(Record(key));
  std::string limit = fmt::format("a budget of {} bytes", buffers_.budget_bytes());
  if (max_experts_) {
    limit += fmt::format(" and of {} experts", *max_experts_);
  }
  return {ErrorCode::kNotEnoughMemory,
          fmt::format("{}: expected room in the expert cache for at least {} experts ({} bytes), "
                      "{} of them in use; "
                      "found {}",
                      Describe(key), pinned + 1, minimum, pinned, limit)};
}

// --- slots ---

void ExpertStore::StartReads() {
  while (!waiting_.empty()) {
    const size_t i = waiting_.front();
    auto room = FindRoom(Record(BatchKey(i)));
    if (!room) {
      error_ = std::move(room).error();
      return;
    }
    if (!*room) {
      return;
    }
    waiting_.pop_front();
    StartExpert(i, **std::move(room));
  }
}

// Staging first: it comes free by itself when reads complete, so nothing is evicted in vain.
Result<std::optional<ExpertStore::Room>> ExpertStore::FindRoom(const ExpertRecord& record) {
  Room room;
  if (record.converts()) {
    COLI_ASSIGN_OR_RETURN(auto staging, staging_.Take(ExpertLayout::BufferBytes(record)));
    if (!staging) {
      return std::nullopt;
    }
    room.staging = *std::move(staging);
  }
  auto slot = FindSlot(BufferBytes(record));
  if (!slot || !*slot) {
    staging_.GiveBack(std::move(room.staging));
    return slot ? Result<std::optional<Room>>(std::nullopt)
                : tl::unexpected<Error>(std::move(slot).error());
  }
  room.slot = **std::move(slot);
  return room;
}

Result<std::optional<AlignedBuffer>> ExpertStore::FindSlot(uint64_t bytes) {
  while (true) {
    COLI_ASSIGN_OR_RETURN(auto buffer, buffers_.Take(bytes));
    if (buffer) {
      return buffer;
    }
    const auto victim = policy_->Victim([this](ExpertKey key) { return IsPinned(key); });
    if (!victim) {
      return std::nullopt;
    }
    policy_->OnRemove(*victim);
    ++stats_.evictions;
    Vacate(SlotOf(*victim));
  }
}

void ExpertStore::StartExpert(size_t index_in_batch, Room room) {
  const ExpertKey key = BatchKey(index_in_batch);
  if (vacant_.empty()) {
    vacant_.push_back(table_.size());
    table_.push_back(std::make_unique<Slot>());
  }
  const size_t index = vacant_.back();
  vacant_.pop_back();
  SlotOf(key) = index;
  Slot& slot = *table_[index];
  slot.state = Slot::State::kReading;
  slot.key = key;
  slot.buffer = std::move(room.slot);
  slot.staging = std::move(room.staging);
  slot.batch_index = index_in_batch;
  slot.layout.emplace(Record(key));
  slot.reads_left = slot.layout->reads().size();
  COLI_CHECK(slot.reads_left > 0);
  slot.tries.fill(0);
  ++reading_;
  ++stats_.misses;
  for (size_t read = 0; read < slot.layout->reads().size(); ++read) {
    SubmitRead(index, read);
  }
}

void ExpertStore::SubmitRead(size_t index, size_t read) {
  Slot& slot = *table_[index];
  ++slot.tries[read];
  const ExpertLayout::Read& extent = slot.layout->reads()[read];
  const AlignedBuffer& buffer = Record(slot.key).converts() ? slot.staging : slot.buffer;
  io_->Submit({extent.file, extent.offset, buffer.bytes().subspan(extent.position, extent.bytes),
               TagOf(index, read)});
}

// The slot's expert is gone, and with its generation every way to name it.
void ExpertStore::Vacate(size_t index) {
  Slot& slot = *table_[index];
  COLI_CHECK(slot.leases == 0 && slot.reads_left == 0);
  SlotOf(slot.key) = kNoSlot;
  buffers_.GiveBack(std::move(slot.buffer));
  staging_.GiveBack(std::move(slot.staging));
  const uint64_t generation = slot.generation;
  slot = Slot{};
  slot.generation = generation + 1;
  vacant_.push_back(index);
}

void ExpertStore::Complete(const ReadCompletion& completion) {
  const size_t index = static_cast<size_t>(completion.tag / ExpertLayout::kMaxReads);
  const size_t read = static_cast<size_t>(completion.tag % ExpertLayout::kMaxReads);
  Slot& slot = *table_[index];
  const ExpertLayout::Read& extent = slot.layout->reads()[read];
  if (completion.status) {
    stats_.bytes_read += extent.bytes;
  } else if (slot.tries[read] < kMaxTries) {
    SubmitRead(index, read);
    return;
  } else {
    slot.error =
        Error{completion.status.error().code,
              fmt::format("{}: {} at byte {}, {} bytes, tried {} times: {}", Describe(slot.key),
                          extent.file->path(), extent.offset, extent.bytes, slot.tries[read],
                          completion.status.error().message)};
  }
  if (--slot.reads_left == 0) {
    Finish(index);
  }
}

void ExpertStore::Finish(size_t index) {
  Slot& slot = *table_[index];
  const std::optional<size_t> wanted_as = slot.batch_index;
  if (wanted_as) {
    --reading_;
  }
  if (!slot.error) {
    if (auto status = MakeView(slot); !status) {
      slot.error = Wrap(std::move(status).error(), Describe(slot.key)).value();
    }
  }
  if (slot.error) {
    if (wanted_as && !error_) {
      error_ = std::move(slot.error);
    }
    Vacate(index);
    return;
  }
  slot.state = Slot::State::kResident;
  slot.layout.reset();
  policy_->OnInsert(slot.key);
  if (wanted_as) {
    ready_.push_back(*wanted_as);
  }
}

// All bytes of the slot's expert are here: checks them and, where it is held otherwise, converts.
Status ExpertStore::MakeView(Slot& slot) {
  const ExpertRecord& record = Record(slot.key);
  if (!record.converts()) {
    slot.view = slot.layout->View(slot.buffer.data(), record);
    return CheckExpert(slot.view, record);
  }
  const FfnView stored = slot.layout->View(slot.staging.data(), record);
  COLI_RETURN_IF_ERROR(CheckExpert(stored, record));
  COLI_ASSIGN_OR_RETURN(slot.view, ConvertExpert(record, stored, slot.buffer.bytes(), *pool_));
  staging_.GiveBack(std::move(slot.staging));
  ++stats_.conversions;
  return Ok();
}

// --- leases ---

ExpertStore::Lease::Lease(ExpertStore* store, size_t slot) : store_(store), slot_(slot) {
  ++store_->table_[slot_]->leases;
}

ExpertStore::Lease::Lease(Lease&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)), slot_(other.slot_) {}

ExpertStore::Lease& ExpertStore::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Release();
    store_ = std::exchange(other.store_, nullptr);
    slot_ = other.slot_;
  }
  return *this;
}

ExpertStore::Lease::~Lease() { Release(); }

void ExpertStore::Lease::Release() {
  if (ExpertStore* store = std::exchange(store_, nullptr)) {
    --store->table_[slot_]->leases;
    store->StartReads();
  }
}

const FfnView& ExpertStore::Lease::view() const { return store_->table_[slot_]->view; }
ExpertKey ExpertStore::Lease::key() const { return store_->table_[slot_]->key; }
uint64_t ExpertStore::Lease::generation() const { return store_->table_[slot_]->generation; }

}  // namespace coli
