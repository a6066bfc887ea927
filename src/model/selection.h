// Which keys each row of a batch may attend to. Written by layers with a full indexer, reused by
// the shared layers above. Lives for one step; never crosses into the next batch or into the MTP
// layer. Engine thread only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace coli {

// A view: rows of a SelectionMemory, which outlives it.
class Selection {
 public:
  // The row attends to all of [0, keys).
  void SelectAll(size_t row) { counts_[row] = kAll; }
  // The row attends to `count` positions, to be written ascending to the returned array.
  uint32_t* SelectSome(size_t row, uint32_t count) {
    counts_[row] = count;
    return positions_ + row * top_k_;
  }
  bool all(size_t row) const { return counts_[row] == kAll; }
  std::span<const uint32_t> positions(size_t row) const {
    return {positions_ + row * top_k_, counts_[row]};
  }
  // Row `to` gets the selection of row `from`.
  void Move(size_t from, size_t to);
  uint32_t top_k() const { return top_k_; }
  // The rows from `row` on.
  Selection From(size_t row) const {
    return Selection(top_k_, counts_ + row, positions_ + row * top_k_);
  }

 private:
  friend class SelectionMemory;
  Selection(uint32_t top_k, uint32_t* counts, uint32_t* positions)
      : top_k_(top_k), counts_(counts), positions_(positions) {}

  static constexpr uint32_t kAll = UINT32_MAX;
  uint32_t top_k_;
  uint32_t* counts_;     // [rows]: selected keys, or kAll
  uint32_t* positions_;  // [rows, top_k]
};

// The bytes behind a selection.
class SelectionMemory {
 public:
  // Room for `rows` rows of `top_k` keys.
  SelectionMemory(uint32_t rows, uint32_t top_k)
      : top_k_(top_k), counts_(rows), positions_(size_t{rows} * top_k) {}
  static uint64_t Bytes(uint32_t rows, uint32_t top_k) {
    return uint64_t{rows} * (1 + uint64_t{top_k}) * sizeof(uint32_t);
  }
  Selection view() { return Selection(top_k_, counts_.data(), positions_.data()); }

 private:
  uint32_t top_k_;
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> positions_;
};

}  // namespace coli
