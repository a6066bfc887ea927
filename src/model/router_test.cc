#include "model/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/kernel_table.h"

namespace coli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

static_assert(std::is_same_v<RouteScratch::Sigmoid, decltype(VectorKernels::sigmoid)>);

void Sigmoid(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    y[i] = 1.0F / (1.0F + std::exp(-x[i]));
  }
}

// Scores that are the logits themselves, to choose them freely.
void Identity(const float* x, float* y, size_t n) { std::copy(x, x + n, y); }

Result<std::vector<ExpertChoice>> RouteRow(const RouterConfig& config,
                                           const std::vector<float>& logits,
                                           const std::vector<float>& bias,
                                           RouteScratch::Sigmoid sigmoid = Sigmoid) {
  RouteScratch scratch(config, sigmoid);
  std::vector<ExpertChoice> out(config.experts_per_token);
  COLI_RETURN_IF_ERROR(Route(config, logits.data(), bias.data(), scratch, out.data()));
  return out;
}

std::vector<int32_t> Experts(const std::vector<ExpertChoice>& choices) {
  std::vector<int32_t> experts;
  for (const ExpertChoice& choice : choices) {
    experts.push_back(Raw(choice.expert));
  }
  return experts;
}

// The winners are not the experts with the largest scores: the biases decide.
const std::vector<float> kLogits = {.2F, -1, 1.5F, .1F, -.3F, 2, 0, -2};
const std::vector<float> kBias = {0, .9F, -.5F, 0, .6F, -.4F, .1F, 0};
constexpr RouterConfig kGolden{.experts = 8,
                               .experts_per_token = 3,
                               .groups = 1,
                               .top_groups = 1,
                               .normalize = true,
                               .scale = 2.5F};

TEST(Router, GoldenWithoutGroups) {
  const auto row = RouteRow(kGolden, kLogits, kBias);

  ASSERT_THAT(Experts(*row), ElementsAre(1, 4, 6));
  EXPECT_NEAR((*row)[0].weight, .562875, 1e-6);
  EXPECT_NEAR((*row)[1].weight, .890661, 1e-6);
  EXPECT_NEAR((*row)[2].weight, 1.046464, 1e-6);
}

TEST(Router, GoldenWithoutNormalisation) {
  RouterConfig config = kGolden;
  config.normalize = false;

  const auto row = RouteRow(config, kLogits, kBias);

  ASSERT_THAT(Experts(*row), ElementsAre(1, 4, 6));
  EXPECT_NEAR((*row)[0].weight, .672354, 1e-6);
  EXPECT_NEAR((*row)[1].weight, 1.063894, 1e-6);
  EXPECT_NEAR((*row)[2].weight, 1.25, 1e-6);
}

TEST(Router, GoldenWithFourGroups) {
  RouterConfig config = kGolden;
  config.groups = 4;
  config.top_groups = 2;

  const auto row = RouteRow(config, kLogits, kBias);

  ASSERT_THAT(Experts(*row), ElementsAre(0, 1, 4));
  EXPECT_NEAR((*row)[0].weight, 1.104676, 1e-6);
  EXPECT_NEAR((*row)[1].weight, .540333, 1e-6);
  EXPECT_NEAR((*row)[2].weight, .854991, 1e-6);
}

TEST(Router, BiasSelectsButDoesNotWeigh) {
  RouterConfig config = kGolden;
  config.experts = 2;
  config.experts_per_token = 1;
  config.normalize = false;
  config.scale = 1;

  const auto row = RouteRow(config, {0.75F, 0.25F}, {0, 10}, Identity);

  ASSERT_THAT(Experts(*row), ElementsAre(1));
  EXPECT_EQ((*row)[0].weight, 0.25F);
}

TEST(Router, MaskedGroupNeverWinsEvenWithNegativeScores) {
  // Both experts of the kept group have negative choices; a mask of 0 would let the other group's
  // win.
  const RouterConfig config{.experts = 4,
                            .experts_per_token = 2,
                            .groups = 2,
                            .top_groups = 1,
                            .normalize = true,
                            .scale = 1};

  const auto row = RouteRow(config, {.5F, .5F, .5F, .5F}, {-3, -3, -2, -2}, Identity);

  EXPECT_THAT(Experts(*row), ElementsAre(2, 3));
}

TEST(Router, GroupScoreIsTheSumOfItsTwoBest) {
  const RouterConfig config{.experts = 6,
                            .experts_per_token = 1,
                            .groups = 2,
                            .top_groups = 1,
                            .normalize = true,
                            .scale = 1};

  // Group 0 has the best single expert and the larger sum of three, group 1 the larger sum of two.
  const auto row =
      RouteRow(config, {.9F, .3F, .3F, .65F, .0F, .6F}, std::vector<float>(6, 0), Identity);

  EXPECT_THAT(Experts(*row), ElementsAre(3));
}

TEST(Router, TiesGoToTheLowerIndex) {
  RouterConfig config = kGolden;

  EXPECT_THAT(Experts(*RouteRow(config, std::vector<float>(8, .5F), std::vector<float>(8, 0))),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(Experts(*RouteRow(config, {0, 1, 0, 1, 1, 0, 1, 0}, std::vector<float>(8, 0))),
              ElementsAre(1, 3, 4));
  config.groups = 4;
  config.top_groups = 2;
  EXPECT_THAT(Experts(*RouteRow(config, {0, 0, 1, 1, 1, 1, 1, 1}, std::vector<float>(8, 0))),
              ElementsAre(2, 3, 4));
}

TEST(Router, PositiveAndNegativeZeroTie) {
  RouterConfig config = kGolden;
  config.experts_per_token = 1;

  EXPECT_THAT(Experts(*RouteRow(config, {-0.0F, 0, 0, 0, 0, 0, 0, 0}, std::vector<float>(8, -0.0F),
                                Identity)),
              ElementsAre(0));
}

TEST(Router, AllExpertsMayBeChosen) {
  RouterConfig config = kGolden;
  config.experts_per_token = 8;

  const auto row = RouteRow(config, kLogits, kBias);

  float sum = 0;
  for (const ExpertChoice& choice : *row) {
    sum += choice.weight;
  }
  EXPECT_THAT(Experts(*row), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_NEAR(sum, 2.5, 1e-6);
}

TEST(Router, ScoresOfZeroGiveWeightsOfZero) {
  const auto row = RouteRow(kGolden, std::vector<float>(8, 0), kBias, Identity);

  for (const ExpertChoice& choice : *row) {
    EXPECT_EQ(choice.weight, 0.0F);
  }
}

TEST(Router, NotANumberIsAnErrorThatNamesTheExpert) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = kLogits;
    logits[5] = value;
    std::vector<float> bias = kBias;
    bias[6] = value;

    EXPECT_EQ(RouteRow(kGolden, logits, kBias).error().code, ErrorCode::kNumeric);
    EXPECT_THAT(RouteRow(kGolden, logits, kBias).error().message, HasSubstr("expert 5"));
    EXPECT_THAT(RouteRow(kGolden, kLogits, bias).error().message, HasSubstr("expert 6"));
  }
}

TEST(Router, ScratchKeepsNothingOfTheRowBefore) {
  RouterConfig config = kGolden;
  config.groups = 4;
  config.top_groups = 2;
  RouteScratch scratch(config, Sigmoid);
  std::vector<ExpertChoice> out(3);

  ASSERT_TRUE(Route(config, std::vector<float>{9, 9, -9, -9, -9, -9, 9, 9}.data(), kBias.data(),
                    scratch, out.data()));
  ASSERT_TRUE(Route(config, kLogits.data(), kBias.data(), scratch, out.data()));

  EXPECT_THAT(Experts(out), ElementsAre(0, 1, 4));
}

}  // namespace
}  // namespace coli
