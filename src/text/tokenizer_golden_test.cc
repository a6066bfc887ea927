// What the tokenizers library does with the same files and texts:
// tests/golden/tokenizer/<variant>/{tokenizer,cases}.json, made by
// tools/oracle/tokenizer_goldens.py. The built-in model has a file of cases of its own; fetched
// vocabularies are in tests/vocabularies_test.cc.
#include <gtest/gtest.h>

#include "text/testing/golden_cases.h"

namespace coli::golden_cases {
namespace {

class TokenizerGolden : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerGolden, GivesTheIdsOfTheReference) {
  const fs::path root = Root();
  ASSERT_FALSE(root.empty()) << "tests/golden/tokenizer was not found above " << fs::current_path();
  const fs::path folder = root / "tests/golden/tokenizer" / GetParam();

  EXPECT_GE(CheckCases(folder / "tokenizer.json", folder / "cases.json"), 350u);
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
            350u);
}

}  // namespace
}  // namespace coli::golden_cases
