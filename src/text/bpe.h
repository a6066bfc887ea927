// Byte-pair merging.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace coli {

// Two neighbouring tokens become a third. The place in the list is the rank: lower goes first.
struct Merge {
  TokenId left;
  TokenId right;
  TokenId result;
};

// A table of merges. Immutable, thread-safe.
class Bpe {
 public:
  // Working memory of one caller, kept between calls to save allocations.
  struct Scratch {
    struct Symbol {
      int32_t token;
      uint32_t rank;  // of the merge with the right neighbour
      uint32_t prev;
      uint32_t next;
    };
    std::vector<Symbol> symbols;
    std::vector<uint64_t> heap;  // rank << 32 | index of the left symbol
  };

  // Ids in `merges` and `byte_tokens` are in [0, id_count); no pair occurs twice; fewer than 2^32 -
  // 1 merges.
  Bpe(std::span<const Merge> merges, const std::array<TokenId, 256>& byte_tokens, size_t id_count);

  // Appends the tokens of a word (less than 2^32 - 1 bytes): starting from single bytes, always the
  // adjacent pair of lowest rank is merged, the leftmost of equals, until none is in the table. O(n
  // log n).
  void Encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Pair {
    int32_t right;
    uint32_t rank;
  };

  uint32_t RankOf(int32_t left, int32_t right) const;

  // The pairs with left token t, ordered by their right token, are pairs_[first_[t]] up to
  // pairs_[first_[t + 1]]. Sorted, not hashed: no file can make a look-up slow.
  std::vector<uint32_t> first_;
  std::vector<Pair> pairs_;
  std::vector<int32_t> results_;  // by rank
  std::array<TokenId, 256> byte_tokens_;
};

}  // namespace coli
