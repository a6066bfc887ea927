#include "store/slot_buffers.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "base/checked_math.h"

namespace coli {
namespace {

// Builds that look for mistakes overwrite what nobody may read any more, so that a stale view
// shows.
void Poison([[maybe_unused]] const AlignedBuffer& buffer) {
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (buffer.size() != 0) {
    std::memset(buffer.data(), 0xA5, buffer.size());
  }
#endif
}

}  // namespace

uint64_t SlotBuffers::Cost(uint64_t bytes) { return AlignUp(bytes, AlignedBuffer::kAlignment); }

bool SlotBuffers::MakeRoom(uint64_t cost) {
  const auto fits = [this, cost] {
    return held_buffers_ < max_buffers_ && held_bytes_ <= budget_bytes_ &&
           cost <= budget_bytes_ - held_bytes_;
  };
  while (!fits() && !kept_.empty()) {
    const auto largest = std::prev(kept_.end());
    held_bytes_ -= Cost(largest->first);
    --held_buffers_;
    largest->second.pop_back();
    if (largest->second.empty()) {
      kept_.erase(largest);
    }
  }
  return fits();
}

Result<std::optional<AlignedBuffer>> SlotBuffers::Take(uint64_t bytes) {
  if (const auto kept = kept_.find(bytes); kept != kept_.end()) {
    std::optional<AlignedBuffer> buffer(std::move(kept->second.back()));
    kept->second.pop_back();
    if (kept->second.empty()) {
      kept_.erase(kept);
    }
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
  Poison(buffer);
  kept_[buffer.size()].push_back(std::move(buffer));
}

}  // namespace coli
