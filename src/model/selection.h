// Which keys each row of a batch may attend to. Written by layers with a full indexer, reused by
// the shared layers above. Lives for one step; never crosses into the next batch or into the MTP
// layer. Engine thread only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace coli {

class Selection {
 public:
  // Room for `rows` rows of `top_k` keys.
  Selection(uint32_t rows, uint32_t top_k)
      : top_k_(top_k), counts_(rows), positions_(size_t{rows} * top_k) {}
  static uint64_t Bytes(uint32_t rows, uint32_t top_k) {
    return uint64_t{rows} * (1 + uint64_t{top_k}) * sizeof(uint32_t);
  }

  // The row attends to all of [0, keys).
  void SelectAll(size_t row) { counts_[row] = kAll; }
  // The row attends to `count` positions, to be written ascending to the returned array.
  uint32_t* SelectSome(size_t row, uint32_t count) {
    counts_[row] = count;
    return positions_.data() + row * top_k_;
  }
  bool all(size_t row) const { return counts_[row] == kAll; }
  std::span<const uint32_t> positions(size_t row) const {
    return {positions_.data() + row * top_k_, counts_[row]};
  }
  // Row `to` gets the selection of row `from`.
  void Move(size_t from, size_t to);
  uint32_t top_k() const { return top_k_; }

 private:
  static constexpr uint32_t kAll = UINT32_MAX;
  uint32_t top_k_;
  std::vector<uint32_t> counts_;     // selected keys, or kAll
  std::vector<uint32_t> positions_;  // [rows, top_k]
};

}  // namespace coli
