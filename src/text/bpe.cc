#include "text/bpe.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace coli {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

}  // namespace

Bpe::Bpe(std::span<const Merge> merges, const std::array<TokenId, 256>& byte_tokens,
         size_t id_count)
    : first_(id_count + 1, 0), pairs_(merges.size()), byte_tokens_(byte_tokens) {
  results_.reserve(merges.size());
  for (const Merge& merge : merges) {
    results_.push_back(Raw(merge.result));
    ++first_[static_cast<size_t>(Raw(merge.left)) + 1];
  }
  for (size_t i = 0; i < id_count; ++i) {
    first_[i + 1] += first_[i];
  }

  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const size_t left = static_cast<size_t>(Raw(merges[rank].left));
    pairs_[next[left]++] = {Raw(merges[rank].right), static_cast<uint32_t>(rank)};
  }
  for (size_t i = 0; i < id_count; ++i) {
    std::sort(pairs_.begin() + first_[i], pairs_.begin() + first_[i + 1],
              [](const Pair& a, const Pair& b) { return a.right < b.right; });
  }
}

uint32_t Bpe::RankOf(int32_t left, int32_t right) const {
  const auto begin = pairs_.begin() + first_[static_cast<size_t>(left)];
  const auto end = pairs_.begin() + first_[static_cast<size_t>(left) + 1];
  const auto found = std::lower_bound(
      begin, end, right, [](const Pair& pair, int32_t token) { return pair.right < token; });
  return found != end && found->right == right ? found->rank : kNone;
}

void Bpe::Encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const auto add_candidate = [&](uint32_t at) {
    const uint32_t right = symbols[at].next;
    symbols[at].rank = right == kNone ? kNone : RankOf(symbols[at].token, symbols[right].token);
    if (symbols[at].rank == kNone) {
      return;
    }
    heap.push_back(uint64_t{symbols[at].rank} << 32 | at);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };

  const uint32_t count = static_cast<uint32_t>(word.size());
  symbols.resize(count);
  heap.clear();
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i] = {Raw(byte_tokens_[static_cast<uint8_t>(word[i])]), kNone, i == 0 ? kNone : i - 1,
                  i + 1 == count ? kNone : i + 1};
  }
  for (uint32_t i = 0; i < count; ++i) {
    add_candidate(i);
  }

  while (!heap.empty()) {
    const uint32_t at = static_cast<uint32_t>(heap.front());
    const uint32_t rank = static_cast<uint32_t>(heap.front() >> 32);
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    if (symbols[at].rank != rank) {
      continue;  // one of the two has been merged since
    }

    Scratch::Symbol& left = symbols[at];
    Scratch::Symbol& right = symbols[left.next];
    left.token = results_[rank];
    left.next = right.next;
    right.rank = kNone;
    if (left.next != kNone) {
      symbols[left.next].prev = at;
    }
    add_candidate(at);
    if (left.prev != kNone) {
      add_candidate(left.prev);
    }
  }
  for (uint32_t i = 0; i != kNone && count > 0; i = symbols[i].next) {
    out.push_back(TokenId{symbols[i].token});
  }
}

}  // namespace coli
