#include "model/indexer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace coli {
namespace {

std::vector<uint32_t> TopK(const std::vector<float>& scores, uint32_t count) {
  std::vector<uint32_t> selected(count);
  SelectTopK(scores, count, selected.data());
  return selected;
}

using Positions = std::vector<uint32_t>;

// Scores of a worked example: two heads, one with a negative weight, and five keys.
TEST(SelectTopK, TakesTheBestAndOfEqualsTheLowerPosition) {
  EXPECT_EQ(TopK({.247487F, -.265165F, -.106066F, .371231F, -.106066F}, 3), (Positions{0, 2, 3}));
}

TEST(SelectTopK, PositiveAndNegativeZeroAreEqual) {
  EXPECT_EQ(TopK({-0.0F, 0.0F, -0.0F, 0.0F}, 2), (Positions{0, 1}));
}

TEST(SelectTopK, ZeroBeatsNegativeScores) {
  EXPECT_EQ(TopK({-1.0F, 0.0F, -2.0F, 0.0F}, 2), (Positions{1, 3}));
}

TEST(SelectTopK, NotANumberComesLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(TopK({nan, -5.0F, nan, -7.0F}, 2), (Positions{1, 3}));
  EXPECT_EQ(TopK({nan, nan, nan, 1.0F}, 2), (Positions{0, 3}));
}

TEST(SelectTopK, AllKeysWhenAsManyAreWanted) {
  EXPECT_EQ(TopK({3.0F, 1.0F, 2.0F}, 3), (Positions{0, 1, 2}));
}

TEST(SelectTopK, EqualsASortOfEverything) {
  std::vector<float> scores;
  uint32_t state = 1;
  for (int i = 0; i < 500; ++i) {
    state = state * 1664525U + 1013904223U;
    scores.push_back(static_cast<float>(state >> 28U));  // many ties
  }
  std::vector<uint32_t> sorted(scores.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });

  for (const uint32_t count : {1U, 7U, 63U, 499U}) {
    Positions expected(sorted.begin(), sorted.begin() + count);
    std::ranges::sort(expected);
    EXPECT_EQ(TopK(scores, count), expected) << count;
  }
}

}  // namespace
}  // namespace coli
