#include "text/tokenizer_file.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "base/shown.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer.h"
#include "text/tokenizer_pipeline.h"

namespace coli {
namespace {

constexpr int64_t kMaxId = (1 << 24) - 1;
constexpr int64_t kMaxUnusedIds =
    1 << 20;  // tables are indexed by id: a small file must not make them large
constexpr size_t kMaxMerges = 1 << 24;
constexpr size_t kMaxAddedTokens = 1 << 16;
constexpr size_t kMaxAddedTokenBytes = 1 << 10;

Result<TokenId> ReadId(const Json* value, std::string_view where) {
  if (value == nullptr || !value->is_number_unsigned() || value->get<uint64_t>() > kMaxId) {
    return Fail(ErrorCode::kCorrupt, "{}: expected an id from 0 to {}, found {}", where, kMaxId,
                Shown(value));
  }
  return TokenId{value->get<int32_t>()};
}

Result<bool> ReadFlag(const Json& object, std::string_view key, bool otherwise,
                      std::string_view where) {
  const Json* const value = FindMember(object, key);
  if (value == nullptr || value->is_null()) {
    return otherwise;
  }
  if (!value->is_boolean()) {
    return Fail(ErrorCode::kCorrupt, "{}.{}: expected true or false, found {}", where, key,
                Shown(value));
  }
  return value->get<bool>();
}

// A part of the file, read into `file_`. Field names in errors start with the name of the file.
class Reader {
 public:
  Reader(const Json& root, std::string_view source) : root_(root), source_(source) {}

  Result<TokenizerFile> Run() {
    if (!root_.is_object()) {
      return Fail(ErrorCode::kCorrupt, "{}: expected an object, found {}", source_, Shown(root_));
    }
    COLI_ASSIGN_OR_RETURN(const Json* model, Model());
    COLI_RETURN_IF_ERROR(ReadVocab(*model));
    COLI_RETURN_IF_ERROR(ReadAddedTokens());
    COLI_RETURN_IF_ERROR(CheckIds());
    COLI_RETURN_IF_ERROR(FindByteTokens());
    COLI_RETURN_IF_ERROR(ReadMerges(*model));
    COLI_RETURN_IF_ERROR(CheckAddedTokensCannotBeSpelled());
    COLI_ASSIGN_OR_RETURN(file_.nfc,
                          ReadNormalizer(FindMember(root_, "normalizer"), Field("normalizer")));
    COLI_ASSIGN_OR_RETURN(
        file_.splits, ReadPreTokenizer(FindMember(root_, "pre_tokenizer"), Field("pre_tokenizer")));
    COLI_RETURN_IF_ERROR(CheckDecoder(FindMember(root_, "decoder"), Field("decoder")));
    return std::move(file_);
  }

 private:
  std::string Field(std::string_view name) const { return fmt::format("{}: {}", source_, name); }

  Result<const Json*> Model() {
    const Json* const model = FindMember(root_, "model");
    if (model == nullptr || !model->is_object()) {
      return Fail(ErrorCode::kCorrupt, "{}: expected an object, found {}", Field("model"),
                  Shown(model));
    }
    const Json* const type = FindMember(*model, "type");
    if (type == nullptr || *type != "BPE") {
      return Fail(ErrorCode::kUnsupported, "{}: expected \"BPE\", found {}", Field("model.type"),
                  Shown(type));
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json* const value = FindMember(*model, key);
      if (value != nullptr && !value->is_null() && *value != "") {
        return Fail(ErrorCode::kUnsupported, "{}.{}: expected null or \"\", found {}",
                    Field("model"), key, Shown(value));
      }
    }
    const Json* const dropout = FindMember(*model, "dropout");
    if (dropout != nullptr && !dropout->is_null() && *dropout != 0) {
      return Fail(ErrorCode::kUnsupported, "{}: expected null or 0, found {}",
                  Field("model.dropout"), Shown(dropout));
    }
    COLI_ASSIGN_OR_RETURN(file_.ignore_merges,
                          ReadFlag(*model, "ignore_merges", false, Field("model")));
    return model;
  }

  Status ReadVocab(const Json& model) {
    const Json* const vocab = FindMember(model, "vocab");
    if (vocab == nullptr || !vocab->is_object() || vocab->empty()) {
      return Fail(ErrorCode::kCorrupt, "{}: expected an object with tokens, found {}",
                  Field("model.vocab"), Shown(vocab));
    }
    file_.vocab.reserve(vocab->size());
    id_of_.reserve(vocab->size());
    const std::string where = Field("model.vocab");
    for (const auto& [spelled, value] : vocab->get_ref<const Json::object_t&>()) {
      if (spelled.empty() || spelled.size() > kMaxTokenBytes) {
        return Fail(ErrorCode::kCorrupt, "{}: expected tokens of 1 to {} bytes, found {} bytes",
                    where, kMaxTokenBytes, spelled.size());
      }
      const auto id = ReadId(&value, where);
      if (!id) {
        const std::string place = fmt::format("{}: token {}", where, Shown(Json(spelled)));
        return tl::unexpected<Error>(ReadId(&value, place).error());
      }
      auto bytes = UnspellBytes(spelled);
      const bool reachable = bytes.has_value();
      file_.vocab.push_back({*id, reachable ? *std::move(bytes) : spelled, reachable});
      id_of_.emplace(spelled, *id);
    }
    return Ok();
  }

  Status ReadAddedTokens() {
    const Json* const tokens = FindMember(root_, "added_tokens");
    if (tokens == nullptr || tokens->is_null()) {
      return Ok();
    }
    if (!tokens->is_array() || tokens->size() > kMaxAddedTokens) {
      return Fail(ErrorCode::kCorrupt, "{}: expected an array of at most {} tokens, found {}",
                  Field("added_tokens"), kMaxAddedTokens, Shown(tokens));
    }
    for (size_t i = 0; i < tokens->size(); ++i) {
      const std::string where = Field(fmt::format("added_tokens[{}]", i));
      COLI_ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken((*tokens)[i], where));
      const auto in_vocab = id_of_.find(token.content);
      if (in_vocab != id_of_.end() && in_vocab->second != token.id) {
        return Fail(ErrorCode::kCorrupt, "{}.id: model.vocab has {} as {}, found {}", where,
                    Shown(Json(token.content)), Raw(in_vocab->second), Raw(token.id));
      }
      file_.added.push_back(std::move(token));
    }
    return Ok();
  }

  static Result<AddedToken> ReadAddedToken(const Json& value, const std::string& where) {
    if (!value.is_object()) {
      return Fail(ErrorCode::kCorrupt, "{}: expected an object, found {}", where, Shown(value));
    }
    AddedToken token{};
    COLI_ASSIGN_OR_RETURN(token.id, ReadId(FindMember(value, "id"), where + ".id"));
    const Json* const content = FindMember(value, "content");
    if (content == nullptr || !content->is_string() ||
        content->get_ref<const std::string&>().empty() ||
        content->get_ref<const std::string&>().size() > kMaxAddedTokenBytes) {
      return Fail(ErrorCode::kCorrupt, "{}.content: expected a string of 1 to {} bytes, found {}",
                  where, kMaxAddedTokenBytes, Shown(content));
    }
    token.content = content->get<std::string>();
    COLI_ASSIGN_OR_RETURN(token.special, ReadFlag(value, "special", false, where));
    COLI_ASSIGN_OR_RETURN(token.lstrip, ReadFlag(value, "lstrip", false, where));
    COLI_ASSIGN_OR_RETURN(token.rstrip, ReadFlag(value, "rstrip", false, where));
    COLI_ASSIGN_OR_RETURN(token.normalized, ReadFlag(value, "normalized", !token.special, where));
    COLI_ASSIGN_OR_RETURN(const bool single_word, ReadFlag(value, "single_word", false, where));
    if (single_word) {
      return Fail(ErrorCode::kUnsupported,
                  "{}.single_word: expected false, found true, which is not implemented", where);
    }
    return token;
  }

  // Every id names one token, and the range of ids is not much larger than their number.
  Status CheckIds() {
    std::unordered_map<int32_t, const std::string*> text_of;
    std::unordered_set<std::string_view> added_texts;
    int32_t largest = 0;
    for (const auto& [spelled, id] : id_of_) {
      largest = std::max(largest, Raw(id));
      if (!text_of.emplace(Raw(id), &spelled).second) {
        return Fail(ErrorCode::kCorrupt, "{}: expected unique ids, found {} for {} and {}",
                    Field("model.vocab"), Raw(id), Shown(Json(*text_of[Raw(id)])),
                    Shown(Json(spelled)));
      }
    }
    for (size_t i = 0; i < file_.added.size(); ++i) {
      const AddedToken& token = file_.added[i];
      const std::string where = Field(fmt::format("added_tokens[{}]", i));
      largest = std::max(largest, Raw(token.id));
      const auto [other, is_new] = text_of.emplace(Raw(token.id), &token.content);
      if (!is_new && *other->second != token.content) {
        return Fail(ErrorCode::kCorrupt, "{}.id: expected an id of its own, found {}, which is {}",
                    where, Raw(token.id), Shown(Json(*other->second)));
      }
      if (!added_texts.insert(token.content).second) {
        return Fail(ErrorCode::kCorrupt, "{}.content: expected a new token, found {} again", where,
                    Shown(Json(token.content)));
      }
    }
    const int64_t unused = int64_t{largest} + 1 - static_cast<int64_t>(text_of.size());
    if (unused > kMaxUnusedIds) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: expected at most {} ids without a token, found {} below the largest id {}",
                  source_, kMaxUnusedIds, unused, largest);
    }
    file_.id_count = static_cast<size_t>(largest) + 1;
    return Ok();
  }

  Status FindByteTokens() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto found = id_of_.find(SpellByte(static_cast<uint8_t>(byte)));
      const bool in_utf8 = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
      if (found == id_of_.end() && in_utf8) {
        return Fail(ErrorCode::kUnsupported,
                    "{}: expected a token for every byte (byte-level BPE), found none for byte "
                    "{:#04x}, spelled {}",
                    Field("model.vocab"), byte, Shown(Json(SpellByte(static_cast<uint8_t>(byte)))));
      }
      file_.byte_tokens[byte] = found == id_of_.end() ? file_.byte_tokens[0] : found->second;
    }
    return Ok();
  }

  Status ReadMerges(const Json& model) {
    const Json* const merges = FindMember(model, "merges");
    if (merges == nullptr || !merges->is_array() || merges->size() > kMaxMerges) {
      return Fail(ErrorCode::kCorrupt, "{}: expected an array of at most {} merges, found {}",
                  Field("model.merges"), kMaxMerges, Shown(merges));
    }
    file_.merges.reserve(merges->size());
    std::vector<uint64_t> pairs;
    pairs.reserve(merges->size());
    for (const Json& value : *merges) {
      auto merge = ReadMerge(value);
      if (!merge) {
        return Wrap(std::move(merge).error(),
                    Field(fmt::format("model.merges[{}]", file_.merges.size())));
      }
      pairs.push_back(uint64_t{static_cast<uint32_t>(Raw(merge->left))} << 32 |
                      static_cast<uint32_t>(Raw(merge->right)));
      file_.merges.push_back(*merge);
    }
    std::sort(pairs.begin(), pairs.end());
    if (const auto twice = std::adjacent_find(pairs.begin(), pairs.end()); twice != pairs.end()) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: expected every pair once, found the merge of ids {} and {} twice",
                  Field("model.merges"), *twice >> 32, *twice & 0xFFFFFFFF);
    }
    return Ok();
  }

  // "a b" or ["a", "b"].
  Result<Merge> ReadMerge(const Json& value) const {
    std::string_view left;
    std::string_view right;
    if (value.is_string()) {
      const std::string_view text = value.get_ref<const std::string&>();
      const size_t space = text.find(' ');
      if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
    } else if (value.is_array() && value.size() == 2 && value[0].is_string() &&
               value[1].is_string()) {
      left = value[0].get_ref<const std::string&>();
      right = value[1].get_ref<const std::string&>();
    }
    if (left.empty() || right.empty()) {
      return Fail(ErrorCode::kCorrupt, "expected \"a b\" or [\"a\", \"b\"], found {}",
                  Shown(value));
    }
    Merge merge{};
    COLI_ASSIGN_OR_RETURN(merge.left, TokenOf(std::string(left)));
    COLI_ASSIGN_OR_RETURN(merge.right, TokenOf(std::string(right)));
    COLI_ASSIGN_OR_RETURN(merge.result, TokenOf(std::string(left).append(right)));
    return merge;
  }

  Result<TokenId> TokenOf(const std::string& spelled) const {
    const auto found = id_of_.find(spelled);
    if (found != id_of_.end()) {
      return found->second;
    }
    return Fail(ErrorCode::kCorrupt, "expected a token of model.vocab, found {}",
                Shown(Json(spelled)));
  }

  // Text that is encoded without added tokens must not become one by merging.
  Status CheckAddedTokensCannotBeSpelled() const {
    std::unordered_set<int32_t> added;
    for (const AddedToken& token : file_.added) {
      added.insert(Raw(token.id));
    }
    for (const TokenId token : file_.byte_tokens) {
      if (added.contains(Raw(token))) {
        return Fail(ErrorCode::kUnsupported,
                    "{}: expected added tokens that are no single byte, found id {}",
                    Field("added_tokens"), Raw(token));
      }
    }
    for (size_t i = 0; i < file_.merges.size(); ++i) {
      if (added.contains(Raw(file_.merges[i].result))) {
        return Fail(ErrorCode::kUnsupported,
                    "{}[{}]: expected a result that is no added token, found id {}",
                    Field("model.merges"), i, Raw(file_.merges[i].result));
      }
    }
    return Ok();
  }

  const Json& root_;
  std::string_view source_;
  TokenizerFile file_;
  std::unordered_map<std::string, TokenId> id_of_;  // by spelling in model.vocab
};

}  // namespace

Result<TokenizerFile> ParseTokenizerFile(std::string_view json, std::string_view source) {
  COLI_ASSIGN_OR_RETURN(const Json root,
                        ParseJson(json, source, {.max_bytes = kMaxTokenizerBytes}));
  return Reader(root, source).Run();
}

}  // namespace coli
