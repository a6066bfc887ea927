// The tokenizer with vocabularies of well-known models, against the ids of the tokenizers library:
// tests/golden/tokenizer/<name>/cases.json. scripts/vocabularies.sh fetches the vocabularies;
// ./check runs it.
#include <gtest/gtest.h>

#include "text/testing/golden_cases.h"

namespace coli::golden_cases {
namespace {

class Vocabulary : public testing::TestWithParam<const char*> {};

TEST_P(Vocabulary, GivesTheIdsOfTheReference) {
  const fs::path root = Root();
  ASSERT_FALSE(root.empty()) << "tests/golden/tokenizer was not found above " << fs::current_path();
  const fs::path tokenizer = root / "build/vocabularies" / GetParam() / "tokenizer.json";
  if (!fs::exists(tokenizer)) {
    GTEST_SKIP() << tokenizer << ": not there; scripts/vocabularies.sh fetches it with npm";
  }

  EXPECT_GE(CheckCases(tokenizer, root / "tests/golden/tokenizer" / GetParam() / "cases.json",
                       /*fetched=*/true),
            350u);
}

INSTANTIATE_TEST_SUITE_P(Fetched, Vocabulary,
                         testing::Values("deepseek_v3", "gptoss", "llama3", "qwen3"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace coli::golden_cases
