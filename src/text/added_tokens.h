// Finds added tokens in text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer_file.h"

namespace coli {

// A trie of token texts. Immutable, thread-safe.
class AddedTokenMatcher {
 public:
  struct Match {
    size_t begin;
    size_t end;
    TokenId token;
  };

  // Looks for those of `tokens` whose flag `normalized` is as given.
  AddedTokenMatcher(std::span<const AddedToken> tokens, bool normalized);
  AddedTokenMatcher(const AddedTokenMatcher&) = delete;  // nodes point to tokens
  AddedTokenMatcher& operator=(const AddedTokenMatcher&) = delete;

  // The first token at or after `from`, the longest of those that begin there. With lstrip or
  // rstrip the match includes the white space around it, but nothing before `from`. `text` is valid
  // UTF-8. Time: length of the text times the length of the longest token (1 KiB), normally the
  // former alone.
  std::optional<Match> Find(std::string_view text, size_t from) const;

 private:
  struct Node {
    std::vector<std::pair<char, uint32_t>> children;  // sorted by byte
    const AddedToken* token = nullptr;
  };

  void Insert(const AddedToken& token);
  const Node* Child(const Node& node, char byte) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;  // the first one is the root
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace coli
