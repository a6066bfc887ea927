// Comparison of a tokenizer with what the reference library did:
// tests/golden/tokenizer/*/cases.json, whose fields tools/oracle/README.md describes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace coli::golden_cases {

namespace fs = std::filesystem;

// The root of the tree, from a build folder or a place inside it; empty if the files are not there.
inline fs::path Root() {
  std::error_code error;
  for (fs::path at = fs::current_path(error); !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / "tests/golden/tokenizer", error)) {
      return at;
    }
    if (at == at.root_path()) {
      break;
    }
  }
  return {};
}

inline std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<TokenId> Ids(const Json& json) {
  std::vector<TokenId> ids;
  for (const Json& id : json) {
    ids.push_back(TokenId{id.get<int32_t>()});
  }
  return ids;
}

inline Json Numbers(std::span<const TokenId> ids) {
  Json json = Json::array();
  for (const TokenId id : ids) {
    json.push_back(Raw(id));
  }
  return json;
}

// FNV-1a, 64 bits, over the ids as 4 bytes each, the least significant first.
inline std::string Fingerprint(std::span<const TokenId> ids) {
  uint64_t value = 0xCBF29CE484222325;
  for (const TokenId id : ids) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      value = (value ^ (static_cast<uint32_t>(Raw(id)) >> shift & 0xFF)) * 0x100000001B3;
    }
  }
  return fmt::format("{:016x}", value);
}

inline void ExpectEncodes(const Tokenizer& tokenizer, const Json& item, const char* key,
                          SpecialTokens mode) {
  const auto ids = tokenizer.Encode(item["text"].get<std::string>(), mode);
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_EQ(Numbers(*ids), item[key]) << key << " of " << item["text"].dump();
}

inline void ExpectDecodes(const Tokenizer& tokenizer, const Json& item, const char* key,
                          bool skip_special) {
  EXPECT_EQ(tokenizer.Decode(Ids(item["ids"]), skip_special), item[key].get<std::string>())
      << key << " of " << item["ids"].dump();
}

// `fetched`: cases that only have ids.
inline void CheckCase(const Tokenizer& tokenizer, Json item, bool fetched) {
  const auto fill = [&](const char* key, const char* usual) {
    if (!item.contains(key)) {
      item[key] = item[usual];
    }
  };
  fill("decoded", "text");
  ExpectEncodes(tokenizer, item, "ids", SpecialTokens::kParse);
  ExpectDecodes(tokenizer, item, "decoded", false);
  if (fetched) {
    return;
  }
  fill("decoded_without_special", "decoded");
  fill("ids_added_as_text", "ids");
  ExpectEncodes(tokenizer, item, "ids_added_as_text", SpecialTokens::kPlain);
  ExpectDecodes(tokenizer, item, "decoded_without_special", true);
}

inline void CheckLongCase(const Tokenizer& tokenizer, const Json& item) {
  const std::string part = item["part"].get<std::string>();
  const size_t bytes = item["bytes"].get<size_t>();
  std::string text;
  while (text.size() + part.size() <= bytes) {
    text += part;
  }

  const auto ids = tokenizer.Encode(text, SpecialTokens::kParse);

  ASSERT_TRUE(ids) << ids.error().message;
  ASSERT_GE(ids->size(), 8u) << item["part"].dump();
  const std::span<const TokenId> all(*ids);
  EXPECT_EQ(all.size(), item["count"].get<size_t>()) << item["part"].dump();
  EXPECT_EQ(Numbers(all.first(8)), item["first"]) << item["part"].dump();
  EXPECT_EQ(Numbers(all.last(8)), item["last"]) << item["part"].dump();
  EXPECT_EQ(Fingerprint(all), item["fnv1a"].get<std::string>()) << item["part"].dump();
  EXPECT_TRUE(tokenizer.Decode(all, false) == text) << item["part"].dump();
}

// Returns the number of cases. `fetched`: a vocabulary that is not committed.
inline size_t CheckCases(const fs::path& tokenizer_path, const fs::path& cases_path,
                         bool fetched = false) {
  const auto tokenizer = Tokenizer::Parse(ReadFile(tokenizer_path), tokenizer_path.string());
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  const auto cases = ParseJson(ReadFile(cases_path), cases_path.string());
  EXPECT_TRUE(cases) << cases.error().message;
  if (!tokenizer || !cases) {
    return 0;
  }

  size_t count = 0;
  for (const Json& item : cases->at("cases")) {
    CheckCase(*tokenizer, item, fetched);
    ++count;
  }
  for (const Json& item : cases->at("long_cases")) {
    CheckLongCase(*tokenizer, item);
    ++count;
  }
  if (cases->contains("decode_cases")) {
    for (const Json& item : cases->at("decode_cases")) {
      ExpectDecodes(*tokenizer, item, "decoded", false);
      ++count;
    }
  }
  return count;
}

}  // namespace coli::golden_cases
