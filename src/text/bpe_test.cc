#include "text/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

namespace coli {
namespace {

constexpr size_t kIds = 300;

std::array<TokenId, 256> ByteTokens() {
  std::array<TokenId, 256> tokens{};
  for (int byte = 0; byte < 256; ++byte) {
    tokens[static_cast<size_t>(byte)] = TokenId{byte};
  }
  return tokens;
}

TokenId Id(int id) { return TokenId{id}; }

std::vector<TokenId> Encode(const Bpe& bpe, std::string_view word) {
  Bpe::Scratch scratch;
  std::vector<TokenId> tokens;
  bpe.Encode(word, scratch, tokens);
  return tokens;
}

// The definition: look for the best pair, merge it, start again.
std::vector<TokenId> EncodeSlowly(const std::vector<Merge>& merges, std::string_view word) {
  std::vector<TokenId> tokens;
  for (const char byte : word) {
    tokens.push_back(Id(static_cast<unsigned char>(byte)));
  }
  while (true) {
    size_t best_rank = merges.size();
    size_t best_place = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].left == tokens[i] && merges[rank].right == tokens[i + 1]) {
          best_rank = rank;
          best_place = i;
        }
      }
    }
    if (best_rank == merges.size()) {
      return tokens;
    }
    tokens[best_place] = merges[best_rank].result;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  }
}

TEST(Bpe, LowestRankGoesFirstAndTheLeftmostOfEquals) {
  const std::vector<Merge> merges = {
      {Id('b'), Id('c'), Id(256)}, {Id('a'), Id('b'), Id(257)}, {Id('a'), Id('a'), Id(258)}};
  const Bpe bpe(merges, ByteTokens(), kIds);

  EXPECT_THAT(Encode(bpe, "abc"), testing::ElementsAre(Id('a'), Id(256)));
  EXPECT_THAT(Encode(bpe, "ab"), testing::ElementsAre(Id(257)));
  EXPECT_THAT(Encode(bpe, "aaa"), testing::ElementsAre(Id(258), Id('a')));
  EXPECT_THAT(Encode(bpe, ""), testing::IsEmpty());
  EXPECT_THAT(Encode(bpe, "x"), testing::ElementsAre(Id('x')));
}

TEST(Bpe, AgreesWithTheDefinitionOnRandomTablesAndWords) {
  std::mt19937 random(11);
  for (int table = 0; table < 60; ++table) {
    std::vector<Merge> merges;
    std::map<std::pair<TokenId, TokenId>, bool> seen;
    std::vector<TokenId> known = {Id('a'), Id('b'), Id('c')};
    while (merges.size() < 30) {
      const TokenId left = known[random() % known.size()];
      const TokenId right = known[random() % known.size()];
      if (!seen.emplace(std::pair(left, right), true).second) {
        continue;
      }
      const TokenId result = Id(256 + static_cast<int>(merges.size()));
      merges.push_back({left, right, result});
      known.push_back(result);
    }
    const Bpe bpe(merges, ByteTokens(), kIds);
    for (int round = 0; round < 50; ++round) {
      std::string word;
      for (size_t i = random() % 40; i > 0; --i) {
        word += static_cast<char>('a' + random() % 3);
      }

      ASSERT_EQ(Encode(bpe, word), EncodeSlowly(merges, word)) << word;
    }
  }
}

}  // namespace
}  // namespace coli
