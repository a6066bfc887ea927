// tokenizer.json, read and checked, before anything is built from it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/bpe.h"
#include "text/pre_tokenizer.h"

namespace coli {

inline constexpr size_t kMaxTokenBytes = 64 << 10;

struct VocabToken {
  TokenId id;
  std::string bytes;
  bool reachable;  // spelled in the byte alphabet: merging can produce it
};

struct AddedToken {
  TokenId id;
  std::string content;
  bool special;
  bool lstrip;      // takes the white space before it
  bool rstrip;      // takes the white space after it
  bool normalized;  // looked for in normalised text, after those that are not
};

// Everything has been validated: ids are unique and below id_count, every merge's tokens exist, no
// pair occurs twice, every byte that UTF-8 can contain has a token (the others have that of byte
// 0).
struct TokenizerFile {
  std::vector<VocabToken> vocab;
  std::vector<AddedToken> added;  // may repeat tokens of `vocab`, with the same id
  std::vector<Merge> merges;      // by rank
  std::array<TokenId, 256> byte_tokens;
  std::vector<SplitStep> splits;
  bool ignore_merges = false;  // a word that is a token is not merged
  bool nfc = false;            // text is brought to Unicode normalisation form C first
  size_t id_count = 0;         // one more than the largest id
};

// Errors: see Tokenizer::Parse.
Result<TokenizerFile> ParseTokenizerFile(std::string_view json, std::string_view source);

}  // namespace coli
