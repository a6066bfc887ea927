// Any text through a small tokenizer: what is encoded decodes to itself.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/testing/tokenizer.h"
#include "text/utf8.h"
#include "text/utf8_stream.h"

namespace {

// What the stream of the tokens' bytes gives, one token at a time.
std::string Streamed(const coli::Tokenizer& tokenizer, const std::vector<coli::TokenId>& ids) {
  coli::Utf8Stream stream;
  std::string text;
  for (const coli::TokenId id : ids) {
    text += stream.Feed(tokenizer.TokenBytes(id));
  }
  return text += stream.Flush();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizer = coli::testing_tokenizer::Parse(coli::testing_tokenizer::Make());
  COLI_CHECK(tokenizer.has_value());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto mode : {coli::SpecialTokens::kParse, coli::SpecialTokens::kPlain}) {
    const auto ids = tokenizer->Encode(text, mode);
    COLI_CHECK(ids.has_value() == !coli::FindInvalidUtf8(text).has_value());
    if (!ids) {
      continue;
    }
    COLI_CHECK(tokenizer->Decode(*ids, false) == text);
    COLI_CHECK(Streamed(*tokenizer, *ids) == text);
  }
  // The bytes as ids: any sequence of tokens decodes to valid UTF-8.
  std::vector<coli::TokenId> ids;
  for (size_t i = 0; i < size; ++i) {
    ids.push_back(coli::TokenId{data[i] * 2 - 100});
  }
  COLI_CHECK(!coli::FindInvalidUtf8(tokenizer->Decode(ids, false)).has_value());
  return 0;
}
