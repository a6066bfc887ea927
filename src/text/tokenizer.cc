#include "text/tokenizer.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/nfc.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_file.h"
#include "text/utf8.h"
#include "text/utf8_stream.h"

namespace coli {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

// The texts of all tokens by id, in one block. Immutable.
class TokenTable {
 public:
  explicit TokenTable(const TokenizerFile& file) : special_(file.id_count, false) {
    std::vector<std::string_view> texts(file.id_count);
    for (const AddedToken& token : file.added) {
      texts[Index(token.id)] = token.content;
      special_[Index(token.id)] = token.special;
    }
    for (const VocabToken& token : file.vocab) {
      texts[Index(token.id)] = token.bytes;
    }
    offsets_.reserve(file.id_count + 1);
    offsets_.push_back(0);
    for (const std::string_view text : texts) {
      bytes_ += text;
      offsets_.push_back(bytes_.size());
    }
  }

  size_t size() const { return special_.size(); }

  std::string_view Bytes(TokenId token) const {
    if (!Has(token)) {
      return {};
    }
    const size_t begin = offsets_[Index(token)];
    return std::string_view(bytes_).substr(begin, offsets_[Index(token) + 1] - begin);
  }

  bool IsSpecial(TokenId token) const { return Has(token) && special_[Index(token)]; }

 private:
  static size_t Index(TokenId token) { return static_cast<size_t>(Raw(token)); }
  bool Has(TokenId token) const { return Raw(token) >= 0 && Index(token) < size(); }

  std::string bytes_;
  std::vector<size_t> offsets_;
  std::vector<bool> special_;
};

// Added tokens as they are looked for: those that stand in normalised text are normalised
// themselves.
Result<std::vector<AddedToken>> SearchedTokens(const TokenizerFile& file) {
  std::vector<AddedToken> tokens = file.added;
  for (AddedToken& token : tokens) {
    if (!file.nfc || !token.normalized) {
      continue;
    }
    COLI_ASSIGN_OR_RETURN(token.content, NormalizeNfc(token.content));
  }
  return tokens;
}

}  // namespace

struct Tokenizer::Parts {
  struct Scratch {
    std::vector<std::string_view> words;
    Bpe::Scratch bpe;
  };

  Parts(const TokenizerFile& file, std::span<const AddedToken> searched, PreTokenizer splitter)
      : tokens(file),
        raw_matcher(searched, false),
        normalized_matcher(searched, true),
        pre_tokenizer(std::move(splitter)),
        bpe(file.merges, file.byte_tokens, file.id_count),
        ignore_merges(file.ignore_merges),
        nfc(file.nfc) {
    // Words are what plain text may become; an added token that is in the vocabulary too is not
    // among them.
    word_tokens.reserve(file.vocab.size());
    for (const AddedToken& token : file.added) {
      added_tokens.emplace(token.content, token.id);
    }
    for (const VocabToken& token : file.vocab) {
      const std::string_view text = tokens.Bytes(token.id);
      if (token.reachable && !added_tokens.contains(text)) {
        word_tokens.emplace(text, token.id);
      }
    }
  }

  // Cuts `text` at the tokens of `matcher`, appends those and passes what is between them to
  // `between`.
  template <class Between>
  Status CutAt(const AddedTokenMatcher& matcher, std::string_view text, std::vector<TokenId>& out,
               const Between& between) const {
    size_t done = 0;
    while (const auto match = matcher.Find(text, done)) {
      if (match->begin > done) {
        COLI_RETURN_IF_ERROR(between(text.substr(done, match->begin - done)));
      }
      out.push_back(match->token);
      done = match->end;
    }
    return done < text.size() ? between(text.substr(done)) : Ok();
  }

  // Text without added tokens.
  Status EncodePlain(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const {
    COLI_RETURN_IF_ERROR(pre_tokenizer.Split(text, scratch.words));
    for (const std::string_view word : scratch.words) {
      if (ignore_merges) {
        if (const auto whole = word_tokens.find(word); whole != word_tokens.end()) {
          out.push_back(whole->second);
          continue;
        }
      }
      bpe.Encode(word, scratch.bpe, out);
    }
    return Ok();
  }

  // Text without those added tokens that are looked for before normalisation.
  Status EncodeRaw(std::string_view text, SpecialTokens mode, Scratch& scratch,
                   std::vector<TokenId>& out) const {
    std::string normalized;
    if (nfc) {
      COLI_ASSIGN_OR_RETURN(normalized, NormalizeNfc(text));
      text = normalized;
    }
    const auto plain = [&](std::string_view piece) { return EncodePlain(piece, scratch, out); };
    return mode == SpecialTokens::kPlain ? plain(text)
                                         : CutAt(normalized_matcher, text, out, plain);
  }

  TokenTable tokens;
  std::unordered_map<std::string_view, TokenId> word_tokens;  // by bytes
  std::map<std::string, TokenId, std::less<>> added_tokens;   // by content
  AddedTokenMatcher raw_matcher;
  AddedTokenMatcher normalized_matcher;
  PreTokenizer pre_tokenizer;
  Bpe bpe;
  bool ignore_merges;
  bool nfc;
};

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::Parse(std::string_view tokenizer_json, std::string_view source) {
  COLI_ASSIGN_OR_RETURN(const TokenizerFile file, ParseTokenizerFile(tokenizer_json, source));
  COLI_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer, PreTokenizer::Create(file.splits));
  auto searched = SearchedTokens(file);
  if (!searched) {
    return Wrap(std::move(searched).error(), fmt::format("{}: added_tokens", source));
  }
  return Tokenizer(std::make_unique<const Parts>(file, *searched, std::move(pre_tokenizer)));
}

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text, SpecialTokens mode) const {
  if (text.size() > kMaxTextBytes) {
    return Fail(ErrorCode::kInvalidArgument, "text: expected at most {} bytes, found {}",
                kMaxTextBytes, text.size());
  }
  if (const auto offset = FindInvalidUtf8(text)) {
    return Fail(ErrorCode::kInvalidArgument,
                "text: expected UTF-8, found byte {:#04x} at offset {}",
                static_cast<unsigned char>(text[*offset]), *offset);
  }
  Parts::Scratch scratch;
  std::vector<TokenId> out;
  const auto raw = [&](std::string_view piece) {
    return parts_->EncodeRaw(piece, mode, scratch, out);
  };
  COLI_RETURN_IF_ERROR(mode == SpecialTokens::kPlain
                           ? raw(text)
                           : parts_->CutAt(parts_->raw_matcher, text, out, raw));
  return out;
}

std::string Tokenizer::Decode(std::span<const TokenId> tokens, bool skip_special) const {
  Utf8Stream stream;
  std::string bytes;
  for (const TokenId token : tokens) {
    if (!skip_special || !IsSpecial(token)) {
      bytes += TokenBytes(token);
    }
  }
  std::string text = stream.Feed(bytes);
  return text += stream.Flush();
}

std::string_view Tokenizer::TokenBytes(TokenId token) const { return parts_->tokens.Bytes(token); }

std::optional<TokenId> Tokenizer::FindToken(std::string_view content) const {
  if (const auto added = parts_->added_tokens.find(content); added != parts_->added_tokens.end()) {
    return added->second;
  }
  const auto word = parts_->word_tokens.find(content);
  return word == parts_->word_tokens.end() ? std::nullopt : std::optional(word->second);
}

bool Tokenizer::IsSpecial(TokenId token) const { return parts_->tokens.IsSpecial(token); }

size_t Tokenizer::vocab_size() const { return parts_->tokens.size(); }

}  // namespace coli
