// Text to tokens and back, as tokenizer.json describes it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace coli {

// The largest tokenizer.json that is read.
inline constexpr size_t kMaxTokenizerBytes = size_t{256} << 20;

// What a string that spells an added token ("<|user|>", "<think>") means.
enum class SpecialTokens {
  kParse,  // that token: for text that this program wrote
  kPlain,  // just text: for what users and tools wrote; no added token is ever produced
};

// A byte-level BPE tokenizer (the GPT-2 family: GLM, Qwen, DeepSeek, Llama 3). Immutable and
// thread-safe.
//
// Encode adds nothing of its own: no beginning-of-text token (the post_processor section is not
// run).
class Tokenizer {
 public:
  // `tokenizer_json` is the text of the file, `source` its name in errors, which name the field
  // too. Errors: kCorrupt for a file that contradicts itself; kUnsupported for a model, normalizer,
  // pre-tokenizer, decoder, added-token flag or pattern that this class does not implement, by its
  // name.
  static Result<Tokenizer> Parse(std::string_view tokenizer_json, std::string_view source);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Errors: kInvalidArgument for text that is not UTF-8 (naming the byte) or longer than 1 GiB;
  // kUnsupported when the pre-tokenizer's pattern exceeds its step limit on this text. Takes O(n
  // log n) even for one word of n letters.
  Result<std::vector<TokenId>> Encode(std::string_view text, SpecialTokens mode) const;

  // Valid UTF-8: the bytes of all tokens, with U+FFFD for what is no character. Ids without a token
  // give nothing.
  std::string Decode(std::span<const TokenId> tokens, bool skip_special) const;

  // The bytes of one token, which need not be whole characters; empty for an id without a token.
  // Valid as long as the tokenizer.
  std::string_view TokenBytes(TokenId token) const;

  // The token with exactly this text; added tokens come first.
  std::optional<TokenId> FindToken(std::string_view content) const;

  // Whether the file marks this added token as special: not part of the text that a user sees.
  bool IsSpecial(TokenId token) const;

  // One more than the largest id.
  size_t vocab_size() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

}  // namespace coli
