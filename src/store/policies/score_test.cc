#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "store/cache_policy.h"

namespace coli {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

ExpertKey Key(int layer, int expert) { return {LayerId{layer}, ExpertId{expert}}; }

// The average alone unless `parameters` say otherwise.
std::unique_ptr<CachePolicy> MakeScore(const ScoreParameters& parameters) {
  auto score = MakeScorePolicy(parameters);
  score->Prepare(std::array<size_t, 2>{3, 4});
  return score;
}

// exp(0), exp(-1), exp(-2) over their sum: the definition of softmax, by hand.
TEST(ScorePolicy, WorthIsTheAverageOfTheSoftmaxOfTheScores) {
  const auto score = MakeScore(
      {.experts_per_token = 1, .decay = 0.75, .temperature = 0.5, .rate = 0, .impatience = 0});
  const double sum = 1 + std::exp(-1.0) + std::exp(-2.0);

  score->OnRoute(LayerId{0}, std::array<float, 3>{0.0F, 1.0F, 0.5F});
  EXPECT_NEAR(score->Worth(Key(0, 1)), 0.25 / sum, 1e-6);
  EXPECT_NEAR(score->Worth(Key(0, 2)), 0.25 * std::exp(-1.0) / sum, 1e-6);

  score->OnRoute(LayerId{0}, std::array<float, 3>{1.0F, 0.0F, kNegativeInfinity});
  const double pair = 1 + std::exp(-2.0);
  EXPECT_NEAR(score->Worth(Key(0, 1)), 0.75 * 0.25 / sum + 0.25 * std::exp(-2.0) / pair, 1e-6);
  EXPECT_NEAR(score->Worth(Key(0, 2)), 0.75 * 0.25 * std::exp(-1.0) / sum, 1e-6);
  EXPECT_EQ(score->Worth(Key(1, 0)), 0.0);
}

// In layer 0 one expert is sure, in layer 1 all are as likely: whatever level the scores have.
TEST(ScorePolicy, LayersCompareByShareAndNotByScore) {
  const auto score = MakeScore({.decay = 0.5, .temperature = 0.2, .rate = 0, .impatience = 0});
  score->OnRoute(LayerId{0}, std::array<float, 3>{-0.9F, -5.0F, -5.0F});
  score->OnRoute(LayerId{1}, std::array<float, 4>{0.9F, 0.9F, 0.9F, 0.9F});
  score->OnInsert(Key(0, 0));
  score->OnInsert(Key(1, 3));

  EXPECT_EQ(score->Victim([](ExpertKey) { return false; }), Key(1, 3));
}

TEST(ScorePolicy, ANearMissIsWorthMoreThanAnExpertThatTheRouterPassedBy) {
  const auto score = MakeScore({});
  score->OnRoute(LayerId{1}, std::array<float, 4>{0.9F, 0.85F, 0.3F, 0.2F});

  EXPECT_GT(score->Worth(Key(1, 1)), 5 * score->Worth(Key(1, 2)));
}

// Both layers say the same; layer 1 was routed last, so layer 0 comes next.
TEST(ScorePolicy, OfEquallyLikelyExpertsTheOneThatComesLastGoesFirst) {
  const auto score = MakeScorePolicy({.rate = 0});
  score->Prepare(std::array<size_t, 3>{2, 0, 2});
  for (const int layer : {0, 2}) {
    score->OnRoute(LayerId{layer}, std::array<float, 2>{0.5F, 0.5F});
    score->OnInsert(Key(layer, 0));
  }
  EXPECT_EQ(score->Victim([](ExpertKey) { return false; }), Key(2, 0));
}

}  // namespace
}  // namespace coli
