// Buffers for experts inside one byte budget.
//
// Experts have few distinct sizes (an int8 MTP layer among int4 ones), and every buffer has exactly
// the size of one kind of expert: a wide expert costs what it costs and does not make the others
// wider. A buffer that is given back is kept for the next expert of its size; when another size
// needs the bytes, kept buffers are returned to the system. Memory is taken at first use, so that
// the process grows with what it really caches. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "sys/aligned_buffer.h"

namespace coli {

class SlotBuffers {
 public:
  // At most `budget_bytes` and `max_buffers` at once, in use or kept. With `poison`, buffers that
  // are given back are overwritten, so that a stale view shows.
  SlotBuffers(uint64_t budget_bytes, size_t max_buffers, bool poison = kPoisonByDefault)
      : budget_bytes_(budget_bytes), max_buffers_(max_buffers), poison_(poison) {}

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kPoisonByDefault = true;
#else
  static constexpr bool kPoisonByDefault = false;
#endif

  // What a buffer of `bytes` counts against the budget.
  static uint64_t Cost(uint64_t bytes);

  // A buffer of `bytes`, its contents arbitrary; nothing when the budget has no room (give one back
  // and ask again). Errors: kNotEnoughMemory when the system has none although the budget has.
  Result<std::optional<AlignedBuffer>> Take(uint64_t bytes);
  void GiveBack(AlignedBuffer buffer);  // an empty one is none
  // One that will not be given back. It does not count any more.
  AlignedBuffer Lose(AlignedBuffer buffer);
  // A smaller one: kept buffers go back to the system now, those in use when they are given back.
  void SetBudget(uint64_t bytes);

  uint64_t budget_bytes() const { return budget_bytes_; }
  uint64_t held_bytes() const { return held_bytes_; }  // in use and kept

 private:
  bool Fits(uint64_t cost) const;
  void DropKept();
  bool MakeRoom(uint64_t cost);

  uint64_t budget_bytes_;
  size_t max_buffers_;
  bool poison_;
  uint64_t held_bytes_ = 0;
  size_t held_buffers_ = 0;
  size_t kept_buffers_ = 0;
  // By size. Vectors stay when they become empty: once all sizes were seen, buffers change hands
  // without taking memory.
  std::map<uint64_t, std::vector<AlignedBuffer>> kept_;
};

}  // namespace coli
