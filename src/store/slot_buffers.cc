#include "store/slot_buffers.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "base/checked_math.h"

namespace coli {

uint64_t SlotBuffers::Cost(uint64_t bytes) { return AlignUp(bytes, AlignedBuffer::kAlignment); }

bool SlotBuffers::Fits(uint64_t cost) const {
  return held_buffers_ < max_buffers_ && held_bytes_ <= budget_bytes_ &&
         cost <= budget_bytes_ - held_bytes_;
}

// The largest kept buffer, of which there is one.
void SlotBuffers::DropKept() {
  auto largest = std::prev(kept_.end());
  while (largest->second.empty()) {
    --largest;
  }
  held_bytes_ -= Cost(largest->first);
  --held_buffers_;
  --kept_buffers_;
  largest->second.pop_back();
}

bool SlotBuffers::MakeRoom(uint64_t cost) {
  while (!Fits(cost) && kept_buffers_ > 0) {
    DropKept();
  }
  return Fits(cost);
}

Result<std::optional<AlignedBuffer>> SlotBuffers::Take(uint64_t bytes) {
  std::vector<AlignedBuffer>& kept = kept_[bytes];
  if (!kept.empty()) {
    std::optional<AlignedBuffer> buffer(std::move(kept.back()));
    kept.pop_back();
    --kept_buffers_;
    return buffer;
  }
  if (!MakeRoom(Cost(bytes))) {
    return std::nullopt;
  }
  COLI_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
  held_bytes_ += Cost(bytes);
  ++held_buffers_;
  return std::optional(std::move(buffer));
}

void SlotBuffers::GiveBack(AlignedBuffer buffer) {
  if (buffer.size() == 0) {
    return;
  }
  if (poison_) {
    std::memset(buffer.data(), 0xA5, buffer.size());
  }
  kept_[buffer.size()].push_back(std::move(buffer));
  ++kept_buffers_;
  SetBudget(budget_bytes_);
}

AlignedBuffer SlotBuffers::Lose(AlignedBuffer buffer) {
  if (buffer.size() != 0) {
    held_bytes_ -= Cost(buffer.size());
    --held_buffers_;
  }
  return buffer;
}

void SlotBuffers::SetBudget(uint64_t bytes) {
  budget_bytes_ = bytes;
  while (held_bytes_ > budget_bytes_ && kept_buffers_ > 0) {
    DropKept();
  }
}

}  // namespace coli
