// What the tokenizers library does with the same files and texts:
// tests/golden/tokenizer/<variant>/{tokenizer,cases}.json, made by
// tools/oracle/tokenizer_goldens.py. The built-in model has a file of cases of its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace coli {
namespace {

namespace fs = std::filesystem;

// The root of the tree, from a build folder or a place inside it; empty if the files are not there.
fs::path Root() {
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

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<TokenId> Ids(const Json& json) {
  std::vector<TokenId> ids;
  for (const Json& id : json) {
    ids.push_back(TokenId{id.get<int32_t>()});
  }
  return ids;
}

Json Numbers(const std::vector<TokenId>& ids) {
  Json json = Json::array();
  for (const TokenId id : ids) {
    json.push_back(Raw(id));
  }
  return json;
}

void ExpectEncodes(const Tokenizer& tokenizer, const Json& item, const char* key,
                   SpecialTokens mode) {
  if (!item.contains(key)) {
    return;
  }
  const auto ids = tokenizer.Encode(item["text"].get<std::string>(), mode);
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_EQ(Numbers(*ids), item[key]) << key << " of " << item["text"].dump();
}

void ExpectDecodes(const Tokenizer& tokenizer, const Json& item, const char* key,
                   bool skip_special) {
  if (!item.contains(key)) {
    return;
  }
  EXPECT_EQ(tokenizer.Decode(Ids(item["ids"]), skip_special), item[key].get<std::string>())
      << key << " of " << item["ids"].dump();
}

// Returns the number of cases.
size_t CheckCases(const fs::path& tokenizer_path, const fs::path& cases_path) {
  const auto tokenizer = Tokenizer::Parse(ReadFile(tokenizer_path), tokenizer_path.string());
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  const auto cases = ParseJson(ReadFile(cases_path), cases_path.string());
  EXPECT_TRUE(cases) << cases.error().message;
  if (!tokenizer || !cases) {
    return 0;
  }

  for (const Json& item : cases->at("cases")) {
    ExpectEncodes(*tokenizer, item, "ids", SpecialTokens::kParse);
    ExpectEncodes(*tokenizer, item, "ids_added_as_text", SpecialTokens::kPlain);
    ExpectDecodes(*tokenizer, item, "decoded", false);
    ExpectDecodes(*tokenizer, item, "decoded_without_special", true);
  }
  size_t count = cases->at("cases").size();
  if (cases->contains("decode_cases")) {
    for (const Json& item : cases->at("decode_cases")) {
      ExpectDecodes(*tokenizer, item, "decoded", false);
    }
    count += cases->at("decode_cases").size();
  }
  return count;
}

class TokenizerGolden : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerGolden, GivesTheIdsOfTheReference) {
  const fs::path root = Root();
  if (root.empty()) {
    GTEST_SKIP() << "tests/golden/tokenizer was not found above " << fs::current_path();
  }
  const fs::path folder = root / "tests/golden/tokenizer" / GetParam();

  EXPECT_GE(CheckCases(folder / "tokenizer.json", folder / "cases.json"), 250u);
}

INSTANTIATE_TEST_SUITE_P(Variants, TokenizerGolden,
                         testing::Values("base", "merges-strings", "ignore-merges", "nfc"),
                         [](const auto& variant) {
                           std::string name = variant.param;
                           for (char& c : name) {
                             c = c == '-' ? '_' : c;
                           }
                           return name;
                         });

TEST(TokenizerGolden, GivesTheIdsOfTheReferenceForTheBuiltInModel) {
  const fs::path root = Root();
  ASSERT_FALSE(root.empty()) << "tests/golden/tokenizer was not found above " << fs::current_path();

  EXPECT_GE(CheckCases(root / "models/nano/tokenizer.json",
                       root / "tests/golden/tokenizer/built-in/cases.json"),
            250u);
}

}  // namespace
}  // namespace coli
