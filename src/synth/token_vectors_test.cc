#include "synth/token_vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tensor/format.h"

namespace coli {
namespace {

constexpr uint32_t kTokens = 192;
constexpr uint32_t kHidden = 1024;

std::vector<float> Row(const TokenMatrix& matrix, uint32_t token) {
  const WeightView view{matrix.codes.data(), matrix.scales.data(), kTokens, kHidden,
                        Format{FormatId::kInt8Row}};
  std::vector<float> row(kHidden);
  DecodeRow(view, token, row.data());
  return row;
}

double Product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (uint32_t i = 0; i < kHidden; ++i) {
    sum += double{a[i]} * b[i];
  }
  return sum;
}

// Means of product(a, b) over pairs of tokens of one topic, and of different topics.
template <class PairProduct>
std::pair<double, double> MeansByTopic(const PairProduct& product) {
  double same = 0;
  double other = 0;
  int same_pairs = 0;
  int other_pairs = 0;
  for (uint32_t a = 0; a < kTokens; ++a) {
    for (uint32_t b = 0; b < kTokens; ++b) {
      if (a == b) {
        continue;
      }
      const bool same_topic = TopicOf(a) == TopicOf(b);
      (same_topic ? same : other) += product(a, b);
      ++(same_topic ? same_pairs : other_pairs);
    }
  }
  return {same / same_pairs, other / other_pairs};
}

std::vector<std::vector<float>> Rows(const TokenMatrix& matrix) {
  std::vector<std::vector<float>> rows;
  for (uint32_t token = 0; token < kTokens; ++token) {
    rows.push_back(Row(matrix, token));
  }
  return rows;
}

// Of a vector of length 1 a share of .36 is common to all, and as much to a topic.
TEST(TokenVectors, TokensOfATopicAreAlike) {
  const auto rows = Rows(MakeEmbedding(kTokens, kHidden, 1).value());
  const auto cosine = [&](uint32_t a, uint32_t b) {
    return Product(rows[a], rows[b]) /
           std::sqrt(Product(rows[a], rows[a]) * Product(rows[b], rows[b]));
  };
  const auto [same, other] = MeansByTopic(cosine);
  EXPECT_NEAR(same, 0.72, 0.04);
  EXPECT_NEAR(other, 0.36, 0.04);
}

TEST(TokenVectors, TheHeadPrefersTheTopicOfItsInput) {
  const auto inputs = Rows(MakeEmbedding(kTokens, kHidden, 1).value());
  const auto outputs = Rows(MakeHead(kTokens, kHidden, 1).value());
  const auto [same, other] =
      MeansByTopic([&](uint32_t a, uint32_t b) { return Product(inputs[a], outputs[b]); });
  EXPECT_GT(same - other, 2);  // of logits whose deviation is about 2
}

}  // namespace
}  // namespace coli
