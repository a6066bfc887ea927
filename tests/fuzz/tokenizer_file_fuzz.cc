// Any text as tokenizer.json: refused by name, or a tokenizer that encodes and decodes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

constexpr std::string_view kSource = "tokenizer.json";
constexpr std::string_view kText = "Hello  world 1234!\n\n<|user|>it's \x01\x7f {}[] the end ";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = coli::Tokenizer::Parse(json, kSource);
  if (!tokenizer) {
    COLI_CHECK(tokenizer.error().message.starts_with(kSource));
    COLI_CHECK(tokenizer.error().message.size() < 2000);
    return 0;
  }
  for (const auto mode : {coli::SpecialTokens::kParse, coli::SpecialTokens::kPlain}) {
    const auto ids = tokenizer->Encode(kText, mode);
    if (!ids) {
      COLI_CHECK(ids.error().code == coli::ErrorCode::kUnsupported);  // its pattern gave up
      continue;
    }
    for (const coli::TokenId id : *ids) {
      COLI_CHECK(coli::Raw(id) >= 0 &&
                 static_cast<size_t>(coli::Raw(id)) < tokenizer->vocab_size());
    }
    const std::string decoded = tokenizer->Decode(*ids, false);
    COLI_CHECK(!coli::FindInvalidUtf8(decoded));
    // Added tokens may take the spaces around them; plain ASCII is itself in every form.
    COLI_CHECK(mode == coli::SpecialTokens::kParse || decoded == kText);
  }
  return 0;
}
