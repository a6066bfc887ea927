#include "store/expert_store.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace coli {
namespace {

using Clock = std::chrono::steady_clock;

size_t Index(LayerId layer) { return static_cast<size_t>(Raw(layer)); }
size_t Index(ExpertId expert) { return static_cast<size_t>(Raw(expert)); }

uint64_t MicrosecondsSince(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
}

Status CheckRoom(const ExpertReaderOptions& options, const ExpertRecord& record, ExpertKey key) {
  const uint64_t cost = ExpertReader::SlotBytes(record);
  if (cost > options.budget_bytes) {
    return Fail(ErrorCode::kNotEnoughMemory,
                "expert cache: expected a budget of at least {} bytes ({}), found {}", cost,
                Describe(key), options.budget_bytes);
  }
  const uint64_t staging = ExpertReader::StagingBytes(record);
  if (staging > options.staging_bytes) {
    return Fail(ErrorCode::kNotEnoughMemory,
                "expert cache: expected at least {} bytes to read {}, which is converted; found {}",
                staging, Describe(key), options.staging_bytes);
  }
  COLI_CHECK(staging == 0 || options.pool != nullptr);
  return Ok();
}

std::vector<std::vector<uint64_t>> CostsOf(const ExpertDirectory& directory) {
  std::vector<std::vector<uint64_t>> costs;
  for (const auto& layer : directory) {
    std::vector<uint64_t>& of_layer = costs.emplace_back();
    for (const ExpertRecord& record : layer) {
      of_layer.push_back(ExpertReader::SlotBytes(record));
    }
  }
  return costs;
}

}  // namespace

ExpertStore::Sizes::Sizes(const std::vector<std::vector<uint64_t>>& costs) {
  std::map<uint64_t, size_t> count_by_cost;
  for (const auto& layer : costs) {
    experts += layer.size();
    widest_layer = std::max(widest_layer, layer.size());
    for (const uint64_t cost : layer) {
      all += cost;
      ++count_by_cost[cost];
    }
  }
  if (!count_by_cost.empty()) {
    largest = count_by_cost.rbegin()->first;
    common = std::ranges::max_element(count_by_cost, [](const auto& a, const auto& b) {
               return a.second < b.second;
             })->first;
  }
}

uint64_t ExpertStore::CapacityOf(uint64_t budget) const {
  if (options_.reader.max_experts) {
    budget = std::min(budget, *options_.reader.max_experts * sizes_.largest);
  }
  return budget - RoomForReads(budget, sizes_.all, sizes_.largest, options_.batch_experts);
}

// --- creation ---

Result<std::unique_ptr<ExpertStore>> ExpertStore::Create(const ExpertStoreOptions& options,
                                                         ExpertDirectory directory,
                                                         std::unique_ptr<IoEngine> io,
                                                         std::unique_ptr<CachePolicy> policy) {
  if (options.reader.max_experts == size_t{0}) {
    return Fail(ErrorCode::kInvalidArgument,
                "expert cache: expected room for at least 1 expert, found 0");
  }
  for (size_t layer = 0; layer < directory.size(); ++layer) {
    for (size_t expert = 0; expert < directory[layer].size(); ++expert) {
      const ExpertKey key{LayerId{static_cast<int32_t>(layer)},
                          ExpertId{static_cast<int32_t>(expert)}};
      COLI_RETURN_IF_ERROR(CheckRoom(options.reader, directory[layer][expert], key));
    }
  }
  return std::unique_ptr<ExpertStore>(
      new ExpertStore(options, std::move(directory), std::move(io), std::move(policy)));
}

ExpertStore::ExpertStore(const ExpertStoreOptions& options, ExpertDirectory directory,
                         std::unique_ptr<IoEngine> io, std::unique_ptr<CachePolicy> policy)
    : options_(options),
      reader_(options.reader, std::move(directory), std::move(io)),
      sizes_(CostsOf(reader_.directory())),
      cache_(CostsOf(reader_.directory()), CapacityOf(options.reader.budget_bytes),
             std::move(policy)),
      lookahead_(options.lookahead) {
  if (sizes_.experts > 0) {
    slots_ = std::min({sizes_.experts, options.reader.max_experts.value_or(sizes_.experts),
                       static_cast<size_t>(options.reader.budget_bytes / sizes_.common)});
  }
  asked_in_.assign(sizes_.widest_layer, 0);
  sweep_keeps_.assign(sizes_.widest_layer, false);
}

ExpertStore::~ExpertStore() = default;

uint64_t ExpertStore::RoomForReads(uint64_t budget_bytes, uint64_t all_experts_bytes,
                                   uint64_t largest_expert_bytes, size_t batch_experts) {
  if (budget_bytes >= all_experts_bytes) {
    return 0;
  }
  // A quarter of the places at most: with fewer than four there is none.
  const uint64_t places = budget_bytes / largest_expert_bytes;
  const uint64_t wanted = batch_experts + batch_experts / 2;  // and guesses
  return std::min<uint64_t>(places / 4, wanted) * largest_expert_bytes;
}

bool ExpertStore::InBatch(ExpertKey key) const {
  return key.layer == layer_ && asked_in_[Index(key.expert)] == batch_number_;
}

bool ExpertStore::IsNeeded(ExpertKey key) const {
  const Use& use = uses_[*reader_.Find(key)];
  return use.leases > 0 || use.batch_index;
}

// --- the batch ---

void ExpertStore::Begin(LayerId layer, std::span<const ExpertId> experts, Purpose purpose) {
  const auto& directory = reader_.directory();
  COLI_CHECK(Index(layer) < directory.size());
  COLI_CHECK(std::ranges::adjacent_find(experts, std::greater_equal<>{}) == experts.end());
  COLI_CHECK(experts.empty() ||
             (Raw(experts.front()) >= 0 && Index(experts.back()) < directory[Index(layer)].size()));
  CountOverlap();
  Abandon();
  layer_ = layer;
  purpose_ = purpose;
  ++batch_number_;
  batch_.assign(experts.begin(), experts.end());
  for (size_t i = 0; i < batch_.size(); ++i) {
    Ask(i);
  }
  JudgeGuesses(layer);
  if (purpose == Purpose::kSweep) {
    ChooseForSweep();
  }
  StartReads();
}

void ExpertStore::Ask(size_t i) {
  const ExpertKey key = BatchKey(i);
  asked_in_[Index(key.expert)] = batch_number_;
  cache_.OnUse(key);
  const std::optional<size_t> slot = reader_.Find(key);
  if (!slot) {
    last_miss_batch_ = batch_number_;
    waiting_.push_back(i);
    return;
  }
  Use& use = uses_[*slot];
  use.batch_index = i;
  use.half_handed_out = false;
  if (use.guess_rank) {
    ++stats_.misses;
    last_miss_batch_ = batch_number_;
    lookahead_.Useful(*use.guess_rank, reader_.arrived_bytes(*slot));
    ForgetGuess(*slot);
  } else if (!reader_.cancelled(*slot)) {  // a guess that was given up comes, or is read again
    ++stats_.hits;
  }
  StopWarming(*slot);
  if (reader_.loaded(*slot)) {
    ready_.push_back({i, Part::kWhole, /*resident=*/true});
  } else {
    ++reading_;
    reader_.Promote(*slot);
    if (reader_.half_loaded(*slot) && purpose_ == Purpose::kDecode) {
      ready_.push_back({i, Part::kGateUp});
    }
  }
}

// Reads on their way go on; their experts are offered to the cache when they arrive.
void ExpertStore::Abandon() {
  for (size_t i = 0; i < batch_.size(); ++i) {
    if (const auto slot = reader_.Find(BatchKey(i))) {
      uses_[*slot].batch_index.reset();
      Settle(*slot);
    }
  }
  batch_.clear();
  ready_.clear();
  waiting_.clear();
  reading_ = 0;
  error_.reset();
}

Result<std::optional<ExpertStore::Ready>> ExpertStore::Next() {
  CountOverlap();
  Pump();
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
  // Time during which the process was stopped is no fault of the drive: no wait counts for more
  // than its own length.
  constexpr std::chrono::milliseconds kLongestWait{1'000};
  std::chrono::milliseconds patience = options_.patience;
  const auto start = Clock::now();
  while (ready_.empty() && !error_) {
    if (reader_.slots_being_read() == 0) {
      if (!EvictForRead()) {
        break;
      }
    } else if (auto arrival = reader_.Wait(std::min(patience, kLongestWait))) {
      Arrive(*arrival);
      patience = options_.patience;
    } else if (reader_.slots_being_read() > 0) {
      patience -= std::min(patience, kLongestWait);
      if (patience.count() == 0) {
        error_ = NoAnswer();
      }
    }
    StartReads();  // a read that an earlier batch abandoned may have kept the last place busy
  }
  stats_.wait_us += MicrosecondsSince(start);
}

ExpertStore::Ready ExpertStore::HandOut() {
  const auto [i, part, resident] = ready_.front();
  ready_.pop_front();
  const size_t slot = *reader_.Find(BatchKey(i));
  if (part == Part::kGateUp) {
    uses_[slot].half_handed_out = true;
  } else {
    uses_[slot].batch_index.reset();
  }
  if (reader_.slots_being_read() > 0) {
    computing_ = Computing{Clock::now(), reader_.io().stats().busy_us};
  }
  return {i, part, Lease(this, slot), resident};
}

// The caller has computed since the last expert was handed out: how long was the drive busy?
void ExpertStore::CountOverlap() {
  if (computing_) {
    const uint64_t busy_us = reader_.io().stats().busy_us - computing_->io_busy_us;
    stats_.overlap_us += std::min(MicrosecondsSince(computing_->since), busy_us);
    computing_.reset();
  }
}

void ExpertStore::Pump() {
  while (auto arrival = reader_.Poll()) {
    Arrive(*arrival);
  }
  StartReads();
  WarmMore();
}

void ExpertStore::Arrive(const ExpertReader::Arrival& arrival) {
  Use& use = uses_[arrival.slot];
  const std::optional<size_t> wanted_as = use.batch_index;
  if (!arrival.complete) {
    if (wanted_as && purpose_ == Purpose::kDecode) {
      ready_.push_back({*wanted_as, Part::kGateUp});
    }
    return;
  }
  if (wanted_as) {
    --reading_;
  }
  if (!arrival.error) {
    if (wanted_as) {
      stats_.misses += arrival.cancelled ? 1U : 0U;
      Complete(arrival.slot, *wanted_as);
    } else {
      StopWarming(arrival.slot, /*arrived=*/true);
      Settle(arrival.slot);
    }
    return;
  }
  if (use.guess_rank) {
    ForgetGuess(arrival.slot);
  }
  if (use.warming) {
    CountWarmFailure(*arrival.error);
  }
  StopWarming(arrival.slot);
  use.batch_index.reset();
  use.failed = true;
  Settle(arrival.slot);
  if (!wanted_as) {
    return;
  }
  if (arrival.error->code ==
      ErrorCode::kCancelled) {  // a guess that was given up, and then asked for
    // Its first half may be here; it goes with the rest, and the expert is read anew.
    ready_.erase_if([&](const ReadyPart& part) { return part.index == *wanted_as; });
    waiting_.push_back(*wanted_as);
  } else if (!error_) {
    error_ = arrival.error;
  }
}

// All of an expert of the batch is here. Where gate and up wait to be handed out, down joins them.
void ExpertStore::Complete(size_t slot, size_t i) {
  const auto half = std::ranges::find(ready_, i, &ReadyPart::index);
  if (half != ready_.end()) {
    half->part = Part::kWhole;
  } else {
    ready_.push_back({i, uses_[slot].half_handed_out ? Part::kDown : Part::kWhole});
  }
}

// --- places ---

void ExpertStore::StartReads() {
  started_.clear();
  while (!waiting_.empty() && !error_) {
    if (purpose_ == Purpose::kSweep && transients() >= SweepPlaces()) {
      break;  // the same memory again and again, which stays in the processor's caches and tables
    }
    const size_t i = waiting_.front();
    const auto slot = Start(BatchKey(i), Urgency::kDemand);
    if (!slot) {
      error_ = slot.error();
    } else if (*slot) {
      waiting_.pop_front();
      ++reading_;
      ++stats_.misses;
      uses_[**slot] = Use{};
      uses_[**slot].batch_index = i;
      started_.push_back(**slot);
      if (purpose_ != Purpose::kDecode) {
        ContinueStarted();
      }
    } else if (!DropOneGuess()) {
      break;
    }
  }
  ContinueStarted();
}

void ExpertStore::ContinueStarted() {
  for (const size_t slot : started_) {
    reader_.Continue(slot, Urgency::kDemand);
  }
  started_.clear();
}

Result<std::optional<size_t>> ExpertStore::Start(ExpertKey key, Urgency urgency) {
  COLI_ASSIGN_OR_RETURN(const std::optional<size_t> slot, reader_.Start(key, urgency));
  if (slot && *slot >= uses_.size()) {
    uses_.resize(*slot + 1);
  }
  return slot;
}

// Residents left no place for a read, and nobody will give one back: one of them goes.
bool ExpertStore::EvictForRead() {
  const auto victim = cache_.policy().Victim([this](ExpertKey key) { return IsNeeded(key); });
  if (waiting_.empty() || !victim) {
    return false;
  }
  cache_.Remove(*victim);
  victims_.assign(1, *victim);
  VacateVictims();
  return true;
}

// An expert that nobody wants any more stays or goes.
void ExpertStore::Settle(size_t slot) {
  const Use& use = uses_[slot];
  if (!reader_.loaded(slot) || use.leases > 0 || use.batch_index || use.guess_rank) {
    return;
  }
  if (use.failed) {
    uses_[slot] = {};
    reader_.Vacate(slot);
    return;
  }
  const ExpertKey key = reader_.key(slot);
  if (cache_.Contains(key)) {
    return;
  }
  victims_.clear();
  // Experts of a batch do not make way for each other.
  const auto pinned = [this](ExpertKey resident) {
    return InBatch(resident) || IsNeeded(resident);
  };
  const bool sweep = purpose_ == Purpose::kSweep && InBatch(key);
  const bool stays = use.warmed ? cache_.OfferFree(key)
                     : sweep    ? sweep_keeps_[Index(key.expert)] && cache_.OfferFree(key)
                                : cache_.Offer(key, pinned, victims_);
  VacateVictims();
  uses_[slot].warmed = false;
  if (!stays) {
    ++stats_.dropped;
    reader_.Vacate(slot);
  }
}

void ExpertStore::VacateVictims() {
  for (const ExpertKey victim : victims_) {
    ++stats_.evictions;
    reader_.Vacate(*reader_.Find(victim));
  }
}

// The layer's share of the room for residents, for its most worthy experts.
void ExpertStore::ChooseForSweep() {
  const size_t experts = reader_.directory()[Index(layer_)].size();
  const uint64_t capacity = cache_.capacity_bytes();
  const size_t share =
      capacity >= sizes_.all
          ? experts
          : static_cast<size_t>(static_cast<double>(experts) * static_cast<double>(capacity) /
                                static_cast<double>(sizes_.all));
  by_worth_.clear();
  for (size_t e = 0; e < experts; ++e) {
    const ExpertId id{static_cast<int32_t>(e)};
    by_worth_.push_back({-cache_.Worth({layer_, id}), id});
    sweep_keeps_[e] = false;
  }
  std::ranges::nth_element(by_worth_, by_worth_.begin() + static_cast<std::ptrdiff_t>(share));
  for (size_t i = 0; i < share; ++i) {
    sweep_keeps_[Index(by_worth_[i].second)] = true;
  }
}

void ExpertStore::SetBudget(uint64_t bytes) {
  COLI_CHECK(bytes >= sizes_.largest);
  reader_.SetBudget(bytes);
  victims_.clear();
  cache_.SetCapacity(CapacityOf(bytes), [this](ExpertKey key) { return IsNeeded(key); }, victims_);
  VacateVictims();
}

ExpertStoreStats ExpertStore::stats() const {
  ExpertStoreStats stats = stats_;
  stats.bytes_read = reader_.bytes_read();
  stats.drive_us = reader_.io().stats().busy_us;
  stats.conversions = reader_.conversions();
  stats.lookahead = lookahead_.counters();
  return stats;
}

// --- errors ---

Error ExpertStore::NoRoom() {
  COLI_CHECK(!waiting_.empty());
  const ExpertKey key = BatchKey(waiting_.front());
  uint64_t pinned_bytes = 0;
  size_t pinned = 0;
  for (size_t slot = 0; slot < uses_.size(); ++slot) {
    if (uses_[slot].leases > 0) {
      pinned_bytes += reader_.cost(slot);
      ++pinned;
    }
  }
  const uint64_t minimum = pinned_bytes + ExpertReader::SlotBytes(reader_.Record(key));
  std::string limit = fmt::format("a budget of {} bytes", reader_.budget_bytes());
  if (options_.reader.max_experts) {
    limit += fmt::format(" and of {} experts", *options_.reader.max_experts);
  }
  return {ErrorCode::kNotEnoughMemory,
          fmt::format("{}: expected room in the expert cache for at least {} experts ({} bytes), "
                      "{} of them in use; found {}",
                      Describe(key), pinned + 1, minimum, pinned, limit)};
}

Error ExpertStore::NoAnswer() {
  std::string what = "the expert cache";
  for (size_t i = 0; i < batch_.size(); ++i) {
    const auto slot = reader_.Find(BatchKey(i));
    if (slot && !reader_.loaded(*slot)) {
      const Extent& extent = reader_.Record(BatchKey(i)).gate.codes;
      what = fmt::format("{}: {} at byte {}", Describe(BatchKey(i)), extent.file->path(),
                         extent.offset);
      break;
    }
  }
  return {
      ErrorCode::kIo,
      fmt::format("{}: the drive has not completed any of {} reads for {} s; is it still there?",
                  what, reader_.io().in_flight(),
                  std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count())};
}

// --- leases ---

ExpertStore::Lease::Lease(ExpertStore* store, size_t slot) : store_(store), slot_(slot) {
  ++store_->uses_[slot_].leases;
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
    --store->uses_[slot_].leases;
    store->Settle(slot_);
    store->StartReads();
  }
}

const FfnView& ExpertStore::Lease::view() const { return store_->reader_.view(slot_); }
ExpertKey ExpertStore::Lease::key() const { return store_->reader_.key(slot_); }
uint64_t ExpertStore::Lease::generation() const { return store_->reader_.generation(slot_); }

}  // namespace coli
