#include "store/expert_reader.h"

#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "store/conversion.h"
#include "store/finite.h"
#include "sys/left_behind.h"

namespace coli {
namespace {

constexpr size_t kNoSlot = std::numeric_limits<size_t>::max();

size_t Index(LayerId layer) { return static_cast<size_t>(Raw(layer)); }
size_t Index(ExpertId expert) { return static_cast<size_t>(Raw(expert)); }

// Of an expert's slot.
uint64_t BufferBytes(const ExpertRecord& record) {
  return record.converts() ? HeldBytes(record) : ExpertLayout::BufferBytes(record);
}

// A read's tag: which slot, and which of its pieces.
uint64_t TagOf(size_t slot, size_t piece) { return slot * ExpertLayout::kMaxPieces + piece; }

// Every matrix is checked when it arrives: a NaN would spread over all that is computed from it,
// and nothing later could say where it came from. Floats that convert are checked when they do.
Status CheckMatrix(const WeightView& view, const StoredMatrix& stored) {
  const auto place = [&stored] { return Place(stored); };
  if (view.scales != nullptr) {
    COLI_RETURN_IF_ERROR(CheckScales(view, place));
  }
  const bool floats = Info(view.format).arithmetic == Arithmetic::kFloat;
  return floats && !stored.converts() ? CheckFloats(view, place) : Ok();
}

Status CheckGateAndUp(const FfnView& view, const ExpertRecord& record) {
  COLI_RETURN_IF_ERROR(CheckMatrix(view.gate, record.gate));
  return CheckMatrix(view.up, record.up);
}

}  // namespace

std::string Describe(ExpertKey key) {
  return fmt::format("layer {}, expert {}", Raw(key.layer), Raw(key.expert));
}

// The life of a slot: vacant -> reading -> loaded -> vacant. It leaves the reading state only when
// all its reads have ended, whatever became of those who wanted it.
struct ExpertReader::Slot {
  enum class State { kVacant, kReading, kLoaded };

  State state = State::kVacant;
  ExpertKey key{};
  uint64_t generation = 0;
  AlignedBuffer buffer;
  AlignedBuffer staging;  // while reading an expert that converts
  FfnView view;

  std::optional<ExpertLayout> layout;  // while reading
  size_t pieces_left = 0;
  size_t first_pieces_left = 0;  // those with more than codes of down
  bool half_loaded = false;
  uint64_t expert_bytes = 0;
  uint64_t missing_bytes = 0;  // of them
  Urgency urgency = Urgency::kDemand;
  bool cancelled = false;
  bool hangs = false;  // a read may still write to its memory at any time
  std::array<unsigned, ExpertLayout::kMaxPieces> tries{};
  std::optional<Error> error;
};

ExpertReader::ExpertReader(const ExpertReaderOptions& options, ExpertDirectory directory,
                           std::unique_ptr<IoEngine> io)
    : directory_(std::move(directory)),
      buffers_(options.budget_bytes,
               options.max_experts.value_or(std::numeric_limits<size_t>::max()), options.poison),
      staging_(options.staging_bytes, std::numeric_limits<size_t>::max(), options.poison),
      pool_(options.pool),
      io_(std::move(io)) {
  for (const auto& layer : directory_) {
    slot_of_.emplace_back(layer.size(), kNoSlot);
  }
}

// A read that hangs may still write to its slot one day: the slots are then left to it.
ExpertReader::~ExpertReader() {
  if (!io_->Close(kClosePatience)) {
    LeaveBehind(std::move(table_));
  }
}

uint64_t ExpertReader::SlotBytes(const ExpertRecord& record) {
  return SlotBuffers::Cost(BufferBytes(record));
}

uint64_t ExpertReader::StagingBytes(const ExpertRecord& record) {
  return record.converts() ? SlotBuffers::Cost(ExpertLayout::BufferBytes(record)) : 0;
}

const ExpertRecord& ExpertReader::Record(ExpertKey key) const {
  return directory_[Index(key.layer)][Index(key.expert)];
}

std::optional<size_t> ExpertReader::Find(ExpertKey key) const {
  const size_t slot = slot_of_[Index(key.layer)][Index(key.expert)];
  return slot == kNoSlot ? std::nullopt : std::optional(slot);
}

// --- reading ---

Result<std::optional<size_t>> ExpertReader::Start(ExpertKey key, Urgency urgency) {
  COLI_ASSIGN_OR_RETURN(std::optional<Room> room, FindRoom(Record(key)));
  if (!room) {
    return std::nullopt;
  }
  if (vacant_.empty()) {
    vacant_.push_back(table_.size());
    table_.push_back(std::make_unique<Slot>());
  }
  const size_t index = vacant_.back();
  vacant_.pop_back();
  slot_of_[Index(key.layer)][Index(key.expert)] = index;
  Slot& slot = *table_[index];
  slot.state = Slot::State::kReading;
  slot.key = key;
  slot.urgency = urgency;
  slot.buffer = std::move(room->slot);
  slot.staging = std::move(room->staging);
  slot.layout.emplace(Record(key));
  slot.pieces_left = slot.layout->pieces().size();
  slot.expert_bytes = slot.layout->bytes();
  slot.missing_bytes = slot.expert_bytes;
  COLI_CHECK(slot.pieces_left > 0);
  slot.tries.fill(0);
  ++being_read_;
  slot.first_pieces_left = SubmitHalf(index, /*only_down=*/false, urgency);
  return std::optional(index);
}

void ExpertReader::Continue(size_t index, Urgency urgency) {
  SubmitHalf(index, /*only_down=*/true, urgency);
}

size_t ExpertReader::SubmitHalf(size_t index, bool only_down, Urgency urgency) {
  const std::span<const ExpertLayout::Piece> pieces = table_[index]->layout->pieces();
  size_t submitted = 0;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    if (pieces[piece].only_down == only_down) {
      SubmitPiece(index, piece, urgency);
      ++submitted;
    }
  }
  return submitted;
}

// Staging first: it comes free by itself when reads complete.
Result<std::optional<ExpertReader::Room>> ExpertReader::FindRoom(const ExpertRecord& record) {
  Room room;
  if (record.converts()) {
    COLI_ASSIGN_OR_RETURN(auto staging, staging_.Take(ExpertLayout::BufferBytes(record)));
    if (!staging) {
      return std::nullopt;
    }
    room.staging = *std::move(staging);
  }
  auto slot = buffers_.Take(BufferBytes(record));
  if (!slot || !*slot) {
    staging_.GiveBack(std::move(room.staging));
    return slot ? Result<std::optional<Room>>(std::nullopt)
                : tl::unexpected<Error>(std::move(slot).error());
  }
  room.slot = **std::move(slot);
  return room;
}

void ExpertReader::SubmitPiece(size_t index, size_t piece, Urgency urgency) {
  Slot& slot = *table_[index];
  ++slot.tries[piece];
  const ExpertLayout::Piece& part = slot.layout->pieces()[piece];
  const AlignedBuffer& buffer = Record(slot.key).converts() ? slot.staging : slot.buffer;
  io_->Submit({.file = part.file,
               .offset = part.offset,
               .destination = buffer.bytes().subspan(part.position, part.bytes),
               .tag = TagOf(index, piece),
               .urgency = urgency,
               .needed = part.needed});
}

void ExpertReader::Promote(size_t index) {
  table_[index]->urgency = Urgency::kDemand;  // of reads that are repeated
  for (size_t piece = 0; piece < table_[index]->layout->pieces().size(); ++piece) {
    io_->Promote(TagOf(index, piece));
  }
}

uint64_t ExpertReader::Cancel(size_t index) {
  Slot& slot = *table_[index];
  COLI_CHECK(slot.state == Slot::State::kReading);
  slot.cancelled = true;
  uint64_t missing = slot.missing_bytes;
  for (size_t piece = 0; piece < slot.layout->pieces().size(); ++piece) {
    if (io_->Cancel(TagOf(index, piece))) {
      missing -= slot.layout->pieces()[piece].needed;
    }
  }
  return missing;
}

std::optional<ExpertReader::Arrival> ExpertReader::Poll() {
  while (const auto completion = io_->Poll()) {
    if (auto arrival = Complete(*completion)) {
      return arrival;
    }
  }
  return std::nullopt;
}

std::optional<ExpertReader::Arrival> ExpertReader::Wait(std::chrono::milliseconds patience) {
  while (io_->in_flight() > 0) {
    const auto completion = io_->Wait(patience);
    if (!completion) {
      return std::nullopt;
    }
    if (auto arrival = Complete(*completion)) {
      return arrival;
    }
  }
  return std::nullopt;
}

std::optional<ExpertReader::Arrival> ExpertReader::Complete(const ReadCompletion& completion) {
  const size_t index = static_cast<size_t>(completion.tag / ExpertLayout::kMaxPieces);
  const size_t piece = static_cast<size_t>(completion.tag % ExpertLayout::kMaxPieces);
  Slot& slot = *table_[index];
  const ExpertLayout::Piece& part = slot.layout->pieces()[piece];
  slot.hangs = slot.hangs || completion.hangs;  // also of a slot that nobody wants any more
  if (completion.status) {
    bytes_read_ += part.needed;
    slot.missing_bytes -= part.needed;
    slot.first_pieces_left -= part.only_down ? 0U : 1U;
  } else if (slot.cancelled) {
    slot.error = Error{ErrorCode::kCancelled, Describe(slot.key) + ": not read"};
  } else if (completion.hangs) {
    slot.error = Error{ErrorCode::kCancelled,
                       Describe(slot.key) + ": given up: " + completion.status.error().message};
  } else if (slot.tries[piece] < kMaxTries) {
    SubmitPiece(index, piece, slot.urgency);
    return std::nullopt;
  } else {
    slot.error = Error{completion.status.error().code,
                       fmt::format("{}: {} at byte {}, {} bytes, tried {} times: {}",
                                   Describe(slot.key), part.file->path(), part.offset, part.needed,
                                   slot.tries[piece], completion.status.error().message)};
  }
  if (--slot.pieces_left == 0) {
    return Finish(index);
  }
  if (!part.only_down && slot.first_pieces_left == 0 && FinishFirstHalf(slot)) {
    return Arrival{index, slot.key, /*complete=*/false, /*cancelled=*/false, {}};
  }
  return std::nullopt;
}

// Gate, up and all scales are here. False where they cannot be computed yet, or not at all.
bool ExpertReader::FinishFirstHalf(Slot& slot) {
  const ExpertRecord& record = Record(slot.key);
  if (record.converts() || slot.cancelled || slot.error) {
    return false;
  }
  slot.view = slot.layout->View(slot.buffer.data(), record);
  slot.half_loaded = CheckGateAndUp(slot.view, record).has_value();  // else an error at the end
  return slot.half_loaded;
}

ExpertReader::Arrival ExpertReader::Finish(size_t index) {
  Slot& slot = *table_[index];
  --being_read_;
  if (!slot.error) {
    if (auto status = MakeView(slot); !status) {
      slot.error = Wrap(std::move(status).error(), Describe(slot.key)).value();
    }
  }
  Arrival arrival{index, slot.key, /*complete=*/true, slot.cancelled, std::move(slot.error)};
  slot.state = Slot::State::kLoaded;
  slot.layout.reset();
  if (arrival.error) {  // it can be asked for anew
    slot_of_[Index(slot.key.layer)][Index(slot.key.expert)] = kNoSlot;
  }
  return arrival;
}

// All bytes of the slot's expert are here: checks them and, where it is held otherwise, converts.
Status ExpertReader::MakeView(Slot& slot) {
  const ExpertRecord& record = Record(slot.key);
  if (!record.converts()) {
    slot.view = slot.layout->View(slot.buffer.data(), record);
    if (!slot.half_loaded) {
      COLI_RETURN_IF_ERROR(CheckGateAndUp(slot.view, record));
    }
    return CheckMatrix(slot.view.down, record.down);
  }
  const FfnView stored = slot.layout->View(slot.staging.data(), record);
  COLI_RETURN_IF_ERROR(CheckGateAndUp(stored, record));
  COLI_RETURN_IF_ERROR(CheckMatrix(stored.down, record.down));
  COLI_ASSIGN_OR_RETURN(slot.view, ConvertExpert(record, stored, slot.buffer.bytes(), *pool_));
  staging_.GiveBack(std::move(slot.staging));
  ++conversions_;
  return Ok();
}

// --- slots ---

// The slot's expert is gone, and with its generation every way to name it.
void ExpertReader::Vacate(size_t index) {
  Slot& slot = *table_[index];
  COLI_CHECK(slot.state == Slot::State::kLoaded);
  if (Find(slot.key) == index) {
    slot_of_[Index(slot.key.layer)][Index(slot.key.expert)] = kNoSlot;
  }
  if (slot.hangs) {
    LeaveBehind(buffers_.Lose(std::move(slot.buffer)));
    LeaveBehind(staging_.Lose(std::move(slot.staging)));
  } else {
    buffers_.GiveBack(std::move(slot.buffer));
    staging_.GiveBack(std::move(slot.staging));
  }
  const uint64_t generation = slot.generation;
  slot = Slot{};
  slot.generation = generation + 1;
  vacant_.push_back(index);
}

bool ExpertReader::loaded(size_t slot) const { return table_[slot]->state == Slot::State::kLoaded; }
bool ExpertReader::cancelled(size_t slot) const {
  return table_[slot]->state == Slot::State::kReading && table_[slot]->cancelled;
}
bool ExpertReader::half_loaded(size_t slot) const { return table_[slot]->half_loaded; }
ExpertKey ExpertReader::key(size_t slot) const { return table_[slot]->key; }
uint64_t ExpertReader::generation(size_t slot) const { return table_[slot]->generation; }
const FfnView& ExpertReader::view(size_t slot) const { return table_[slot]->view; }
uint64_t ExpertReader::cost(size_t slot) const {
  return SlotBuffers::Cost(table_[slot]->buffer.size());
}
uint64_t ExpertReader::arrived_bytes(size_t slot) const {
  const Slot& held = *table_[slot];
  return held.expert_bytes - held.missing_bytes;
}

}  // namespace coli
