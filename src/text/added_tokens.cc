#include "text/added_tokens.h"

#include <algorithm>

#include "text/utf8.h"

namespace coli {
namespace {

// Where the white space that ends at `end` begins, not before `from`.
size_t SpaceBefore(std::string_view text, size_t from, size_t end) {
  size_t begin = end;
  while (begin > from) {
    size_t at = begin - 1;
    while (at > from && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
      --at;
    }
    if (!IsWhiteSpace(DecodeUtf8(text.substr(at)).code_point)) {
      break;
    }
    begin = at;
  }
  return begin;
}

size_t SpaceAfter(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size()) {
    const Utf8Char next = DecodeUtf8(text.substr(end));
    if (!IsWhiteSpace(next.code_point)) {
      break;
    }
    end += next.length;
  }
  return end;
}

bool ByteIsLess(const std::pair<char, uint32_t>& child, char byte) { return child.first < byte; }

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::span<const AddedToken> tokens, bool normalized)
    : nodes_(1) {
  for (const AddedToken& token : tokens) {
    if (token.normalized == normalized) {
      tokens_.push_back(token);
    }
  }
  for (const AddedToken& token : tokens_) {
    Insert(token);
  }
}

void AddedTokenMatcher::Insert(const AddedToken& token) {
  is_first_byte_[static_cast<uint8_t>(token.content[0])] = true;
  size_t at = 0;
  for (const char byte : token.content) {
    auto& children = nodes_[at].children;
    auto child = std::lower_bound(children.begin(), children.end(), byte, ByteIsLess);
    if (child != children.end() && child->first == byte) {
      at = child->second;
      continue;
    }
    children.insert(child, {byte, static_cast<uint32_t>(nodes_.size())});
    at = nodes_.size();
    nodes_.emplace_back();
  }
  nodes_[at].token = &token;
}

const AddedTokenMatcher::Node* AddedTokenMatcher::Child(const Node& node, char byte) const {
  const auto child = std::lower_bound(node.children.begin(), node.children.end(), byte, ByteIsLess);
  return child != node.children.end() && child->first == byte ? &nodes_[child->second] : nullptr;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::Find(std::string_view text,
                                                                size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!is_first_byte_[static_cast<uint8_t>(text[begin])]) {
      continue;
    }
    const AddedToken* longest = nullptr;
    const Node* node = Child(nodes_[0], text[begin]);
    for (size_t at = begin + 1; node != nullptr; ++at) {
      if (node->token != nullptr) {
        longest = node->token;
      }
      node = at < text.size() ? Child(*node, text[at]) : nullptr;
    }
    if (longest == nullptr) {
      continue;
    }
    const size_t end = begin + longest->content.size();
    return Match{longest->lstrip ? SpaceBefore(text, from, begin) : begin,
                 longest->rstrip ? SpaceAfter(text, end) : end, longest->id};
  }
  return std::nullopt;
}

}  // namespace coli
