#include "store/routing_forecast.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace coli {
namespace {

constexpr size_t kExperts = 12;

// Scores of a token that chooses one expert.
std::vector<float> Choosing(size_t expert) {
  std::vector<float> scores(kExperts, 0.2F);
  scores[expert] = 0.9F;
  return scores;
}

// Choices in a fixed cycle of all experts. The average knows only who was chosen lately, and who is
// next was chosen longest ago.
double ShareForetold(double rate) {
  RoutingForecast forecast(kExperts, {.experts_per_token = 1, .rate = rate});
  constexpr std::array<size_t, kExperts> kCycle{3, 0, 7, 11, 2, 9, 5, 1, 10, 4, 8, 6};
  size_t right = 0;
  constexpr size_t kTokens = 1200;
  for (size_t t = 0; t < kTokens; ++t) {
    forecast.Observe(Choosing(kCycle[t % kExperts]));
    const size_t next = kCycle[(t + 1) % kExperts];
    const size_t stale = kCycle[(t + kExperts - 4) % kExperts];
    right += forecast.expected()[next] > forecast.expected()[stale] ? 1U : 0U;
  }
  return static_cast<double>(right) / kTokens;
}

TEST(RoutingForecast, LearnsWhoFollowsWhom) {
  EXPECT_LT(ShareForetold(0), 0.1);
  EXPECT_GT(ShareForetold(0.1), 0.5);
}

TEST(RoutingForecast, TheCorrectionHalvesOrDoublesAtMost) {
  const ScoreParameters average{.experts_per_token = 1, .rate = 0};
  const ScoreParameters learned{.experts_per_token = 1, .rate = 0.2};
  RoutingForecast plain(kExperts, average);
  RoutingForecast corrected(kExperts, learned);
  std::mt19937 random(5);
  bool differ = false;
  for (int t = 0; t < 500; ++t) {
    const std::vector<float> scores = Choosing(t % 2 == 0 ? 3 : random() % kExperts);
    plain.Observe(scores);
    corrected.Observe(scores);
    for (size_t e = 0; e < kExperts; ++e) {
      const float ratio = corrected.expected()[e] / plain.expected()[e];
      ASSERT_GE(ratio, 0.499F);
      ASSERT_LE(ratio, 2.001F);
      differ = differ || std::abs(ratio - 1) > 0.1F;
    }
  }
  EXPECT_TRUE(differ);
}

TEST(RoutingForecast, FewerExpertsThanATokenUsesAreAllChosen) {
  RoutingForecast forecast(2, {.experts_per_token = 8});
  forecast.Observe(std::vector<float>{0.1F, 0.4F});
  EXPECT_GT(forecast.expected()[1], forecast.expected()[0]);
}

}  // namespace
}  // namespace coli
