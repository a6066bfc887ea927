#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace coli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void Softmax(float* x, size_t n) {
  const float max = *std::max_element(x, x + n);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += double{x[i] = std::exp(x[i] - max)};
  }
  for (size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(double{x[i]} / sum);
  }
}

std::vector<float> LogitsOf(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) {
    logits.push_back(static_cast<float>(std::log(p) + 3));
  }
  return logits;
}

int32_t SampleOne(const std::vector<float>& logits, const SamplingOptions& options,
                  uint64_t token_index = 0) {
  SamplerScratch scratch(logits.size(), Softmax);
  return Raw(*Sample(logits, options, token_index, scratch));
}

// How often each token comes in `draws` draws.
std::vector<int> Histogram(const std::vector<float>& logits, const SamplingOptions& options,
                           int draws) {
  SamplerScratch scratch(logits.size(), Softmax);
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i) {
    ++counts[static_cast<size_t>(Raw(*Sample(logits, options, static_cast<uint64_t>(i), scratch)))];
  }
  return counts;
}

// The tokens that can come out at all.
std::set<int32_t> Support(const std::vector<float>& logits, const SamplingOptions& options) {
  const std::vector<int> counts = Histogram(logits, options, 4000);
  std::set<int32_t> support;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) {
      support.insert(static_cast<int32_t>(i));
    }
  }
  return support;
}

// Chi-square of 20,000 draws against `expected`, which adds up to 1; zero entries must not occur.
double ChiSquare(const std::vector<float>& logits, const SamplingOptions& options,
                 const std::vector<double>& expected) {
  constexpr int kDraws = 20000;
  const std::vector<int> counts = Histogram(logits, options, kDraws);
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double mean = expected[i] * kDraws;
    if (mean > 0) {
      sum += (counts[i] - mean) * (counts[i] - mean) / mean;
    } else {
      EXPECT_EQ(counts[i], 0) << i;
    }
  }
  return sum;
}

// Exceeded once in 10^4 by chance, for 3, 2 and 7 degrees of freedom; the seeds are fixed.
constexpr double kLimit7 = 29.9;
constexpr double kLimit3 = 21.1;
constexpr double kLimit2 = 18.4;

TEST(Sampler, DefaultsSampleTheModelsDistribution) {
  const std::vector<double> p = {.3, .02, .25, .05, .2, .08, .09, .01};

  EXPECT_LT(ChiSquare(LogitsOf(p), {.seed = 1}, p), kLimit7);
  EXPECT_LT(ChiSquare(LogitsOf(p), {.seed = 2}, p), kLimit7);
}

TEST(Sampler, TemperatureIsAppliedBeforeTruncation) {
  // Halving the logits takes square roots: .64, .16, .16, .04 become 8, 4, 4, 2 eighteenths.
  const std::vector<double> p = {.64, .16, .16, .04};

  EXPECT_LT(
      ChiSquare(LogitsOf(p), {.temperature = 2, .seed = 3}, {8 / 18., 4 / 18., 4 / 18., 2 / 18.}),
      kLimit3);
  // At temperature 1 the first two would reach .7; here it takes three.
  EXPECT_THAT(Support(LogitsOf(p), {.temperature = 2, .top_p = .7F}), ElementsAre(0, 1, 2));
  EXPECT_THAT(Support(LogitsOf(p), {.temperature = 1, .top_p = .7F}), ElementsAre(0, 1));
}

TEST(Sampler, TruncationRenormalises) {
  const std::vector<double> p = {.4, .1, .3, .2};

  EXPECT_LT(ChiSquare(LogitsOf(p), {.top_k = 3, .seed = 4}, {4 / 9., 0, 3 / 9., 2 / 9.}), kLimit2);
  EXPECT_LT(ChiSquare(LogitsOf(p), {.top_p = .85F, .seed = 5}, {4 / 9., 0, 3 / 9., 2 / 9.}),
            kLimit2);
  EXPECT_LT(ChiSquare(LogitsOf(p), {.min_p = .45F, .seed = 6}, {4 / 9., 0, 3 / 9., 2 / 9.}),
            kLimit2);
}

TEST(Sampler, TopPKeepsTheShortestRunThatReachesIt) {
  const std::vector<float> equal(4, 1.5F);  // probabilities of exactly 1/4

  EXPECT_THAT(Support(equal, {.top_p = .5F}), ElementsAre(0, 1));
  EXPECT_THAT(Support(equal, {.top_p = std::nextafter(.5F, 1.0F)}), ElementsAre(0, 1, 2));
  EXPECT_THAT(Support(equal, {.top_p = .25F}), ElementsAre(0));
}

TEST(Sampler, TopPZeroKeepsOne) {
  EXPECT_THAT(Support(LogitsOf({.2, .5, .3}), {.top_p = 0}), ElementsAre(1));
}

TEST(Sampler, TopPIsAShareOfWhatTopKLeft) {
  // Of .4 + .3 the first is .57.
  EXPECT_THAT(Support(LogitsOf({.4, .3, .2, .1}), {.top_k = 2, .top_p = .5F}), ElementsAre(0));
  EXPECT_THAT(Support(LogitsOf({.4, .3, .2, .1}), {.top_p = .5F}), ElementsAre(0, 1));
}

TEST(Sampler, TopKKeepsTheLowerTokenAmongEquals) {
  EXPECT_THAT(Support({1, 2, 1, 2, 2, 0}, {.top_k = 2}), ElementsAre(1, 3));
  EXPECT_THAT(Support({1, 2, 1, 2, 2, 0}, {.top_k = 4}), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(Support({1, 2}, {.top_k = 1000}), ElementsAre(0, 1));
}

TEST(Sampler, MinPIsRelativeToTheLikeliest) {
  EXPECT_THAT(Support(LogitsOf({.5, .24, .26}), {.min_p = .5F}), ElementsAre(0, 2));
  EXPECT_THAT(Support({1, 1, 0}, {.min_p = 1}), ElementsAre(0, 1));
}

TEST(Sampler, TemperatureZeroTakesTheLargestAndTheLowestAmongEquals) {
  EXPECT_EQ(SampleOne({1, 3, 2, 3}, {.temperature = 0}), 1);
  EXPECT_EQ(SampleOne({-5, -5}, {.temperature = 0}), 0);
}

TEST(Sampler, TinyTemperatureIsNearlyGreedy) {
  EXPECT_EQ(SampleOne({1, 3, 2, 2.9999F}, {.temperature = 1e-30F}), 1);
  EXPECT_EQ(
      SampleOne({-FLT_MAX, FLT_MAX, 0}, {.temperature = std::numeric_limits<float>::denorm_min()}),
      1);
}

TEST(Sampler, LowestLogitIsNeverChosen) {
  EXPECT_THAT(Support({-FLT_MAX, 0, -FLT_MAX, 0}, {.temperature = 100}), ElementsAre(1, 3));
  EXPECT_THAT(Support({-FLT_MAX, 0, -FLT_MAX, 0}, {.temperature = 100, .top_k = 3, .top_p = .999F}),
              ElementsAre(1, 3));
}

TEST(Sampler, SameSeedAndIndexGiveTheSameTokenWhateverCameBefore) {
  const std::vector<float> logits = LogitsOf({.1, .2, .3, .4});
  SamplerScratch used(logits.size(), Softmax);
  for (uint64_t i = 0; i < 7; ++i) {
    ASSERT_TRUE(Sample(logits, {.top_p = .5F, .seed = i}, i, used));
  }

  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Raw(*Sample(logits, {.seed = 42}, i, used)), SampleOne(logits, {.seed = 42}, i));
  }
}

TEST(Sampler, OneDrawPerTokenWhateverTheOptions) {
  // With two equal tokens the draw alone decides, so every set of options tells the same story.
  const std::vector<float> logits(2, 0.25F);
  for (uint64_t i = 0; i < 200; ++i) {
    const int32_t expected = UniformDraw(9, i) < .5 ? 0 : 1;
    EXPECT_EQ(SampleOne(logits, {.seed = 9}, i), expected);
    EXPECT_EQ(
        SampleOne(logits, {.temperature = .3F, .top_k = 2, .top_p = .99F, .min_p = .5F, .seed = 9},
                  i),
        expected);
  }
}

TEST(Sampler, DrawsAreUniformAndSeedsIndependent) {
  constexpr int kDraws = 100000;
  double sum = 0;
  double product = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double a = UniformDraw(5, i);
    ASSERT_GE(a, 0);
    ASSERT_LT(a, 1);
    sum += a;
    product += (a - .5) * (UniformDraw(6, i) - .5) + (a - .5) * (UniformDraw(5, i + 1) - .5);
  }

  EXPECT_NEAR(sum / kDraws, .5, .004);      // 4 standard deviations of 0.29 / sqrt(kDraws)
  EXPECT_NEAR(product / kDraws, 0, .0015);  // 4 of sqrt(2) / 12 / sqrt(kDraws)
}

TEST(Sampler, DrawsNeverChange) {
  // Computed with Python from the definition; a change would change every seeded answer.
  EXPECT_EQ(UniformDraw(0, 0), 0.6524484863740322);
  EXPECT_EQ(UniformDraw(1, 0), 0.36818951565166946);
  EXPECT_EQ(UniformDraw(UINT64_MAX, UINT64_MAX), 0.2668471864940366);
}

TEST(Sampler, LogitsThatAreNotFiniteAreAnErrorThatNamesTheToken) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    SamplerScratch scratch(3, Softmax);
    for (const float temperature : {0.0F, 1.0F}) {
      const auto token =
          Sample(std::vector<float>{1, value, 2}, {.temperature = temperature}, 0, scratch);
      ASSERT_FALSE(token);
      EXPECT_EQ(token.error().code, ErrorCode::kNumeric);
      EXPECT_THAT(token.error().message, HasSubstr("token 1"));
    }
  }
}

TEST(Sampler, OptionsOutOfRangeAreRefusedByName) {
  const auto error = [](const SamplingOptions& options) {
    const Status status = CheckSamplingOptions(options);
    return status ? "accepted" : status.error().message;
  };

  EXPECT_EQ(error({}), "accepted");
  EXPECT_EQ(error({.temperature = 0, .top_k = 1, .top_p = 0, .min_p = 1}), "accepted");
  EXPECT_EQ(error({.temperature = -1}), "temperature: expected a number in [0, 100], found -1");
  EXPECT_EQ(error({.temperature = std::numeric_limits<float>::quiet_NaN()}),
            "temperature: expected a number in [0, 100], found nan");
  EXPECT_EQ(error({.top_p = 1.5F}), "top_p: expected a number in [0, 1], found 1.5");
  EXPECT_EQ(error({.min_p = -.5F}), "min_p: expected a number in [0, 1], found -0.5");
}

TEST(Sampler, LargeVocabularyIsSampledFromItsTail) {
  // 100,000 equal tokens: the draw picks by rank, which is the token itself.
  const std::vector<float> logits(100000, 0.0F);
  SamplerScratch scratch(logits.size(), Softmax);

  for (uint64_t i = 0; i < 5; ++i) {
    const double expected = UniformDraw(8, i) * 100000;
    EXPECT_NEAR(Raw(*Sample(logits, {.seed = 8}, i, scratch)), expected, 2);
  }
}

}  // namespace
}  // namespace coli
