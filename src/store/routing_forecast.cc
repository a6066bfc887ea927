#include "store/routing_forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace coli {
namespace {

constexpr size_t kInputs = 16;               // from the shares, and as many from the averages
constexpr size_t kMostExpertsToLearn = 512;  // the weights are 8 bytes for each pair of experts
constexpr float kLeast = 0.5F;               // of what the average says
constexpr float kMost = 2.0F;

size_t InputsPerSource(size_t experts, const ScoreParameters& parameters) {
  return parameters.rate > 0 && experts <= kMostExpertsToLearn ? std::min(kInputs, experts) : 0;
}

size_t Weights(size_t experts, size_t inputs_per_source) {
  return inputs_per_source > 0 ? 2 * experts * experts : 0;
}

}  // namespace

uint64_t RoutingForecast::Bytes(size_t experts, const ScoreParameters& parameters) {
  const size_t inputs = InputsPerSource(experts, parameters);
  return Weights(experts, inputs) * sizeof(float) + 2 * inputs * sizeof(Input) +
         experts * (5 * sizeof(float) + sizeof(size_t));
}

RoutingForecast::RoutingForecast(size_t experts, const ScoreParameters& parameters)
    : decay_(static_cast<float>(parameters.decay)),
      sharpness_(static_cast<float>(1.0 / parameters.temperature)),
      rate_(static_cast<float>(parameters.rate)),
      experts_per_token_(std::min(parameters.experts_per_token, experts)),
      inputs_per_source_(InputsPerSource(experts, parameters)),
      shares_(experts),
      averages_(experts),
      predicted_(experts),
      expected_(experts),
      chosen_(experts),
      weights_(Weights(experts, inputs_per_source_)),
      order_(experts) {
  inputs_.reserve(2 * inputs_per_source_);
  std::iota(order_.begin(), order_.end(), size_t{0});
}

void RoutingForecast::Observe(std::span<const float> scores) {
  COLI_CHECK(scores.size() == shares_.size());
  TakeShares(scores);
  Learn();
  Average();
  inputs_.clear();
  TakeInputs(shares_, 0);
  TakeInputs(averages_, averages_.size());
  Expect();
}

void RoutingForecast::TakeShares(std::span<const float> scores) {
  const float best = std::ranges::max(scores);
  float sum = 0;
  for (size_t e = 0; e < scores.size(); ++e) {
    shares_[e] = std::exp((scores[e] - best) * sharpness_);
    sum += shares_[e];
  }
  for (float& share : shares_) {
    share /= sum;
  }
}

// What was predicted of this token was wrong by so much.
void RoutingForecast::Learn() {
  if (inputs_per_source_ == 0) {
    return;
  }
  std::ranges::fill(chosen_, 0.0F);
  const auto end = order_.begin() + static_cast<ptrdiff_t>(experts_per_token_);
  std::ranges::partial_sort(order_, end, std::ranges::greater{},
                            [&](size_t e) { return shares_[e]; });
  std::for_each(order_.begin(), end, [&](size_t e) { chosen_[e] = 1.0F; });
  for (const Input& input : inputs_) {
    float* const weights = weights_.data() + input.row * chosen_.size();
    const float step = rate_ * input.value;
    for (size_t e = 0; e < chosen_.size(); ++e) {
      weights[e] += step * (chosen_[e] - predicted_[e]);
    }
  }
}

void RoutingForecast::Average() {
  for (size_t e = 0; e < averages_.size(); ++e) {
    averages_[e] = decay_ * averages_[e] + (1 - decay_) * shares_[e];
  }
}

void RoutingForecast::TakeInputs(std::span<const float> values, size_t first_row) {
  const auto end = order_.begin() + static_cast<ptrdiff_t>(inputs_per_source_);
  std::ranges::partial_sort(order_, end, std::ranges::greater{},
                            [&](size_t e) { return values[e]; });
  std::for_each(order_.begin(), end,
                [&](size_t e) { inputs_.push_back({first_row + e, values[e]}); });
}

void RoutingForecast::Expect() {
  const auto scale = static_cast<float>(experts_per_token_);
  for (size_t e = 0; e < averages_.size(); ++e) {
    predicted_[e] = scale * averages_[e];
  }
  float squares = 0;
  for (const Input& input : inputs_) {
    squares += input.value * input.value;
  }
  for (Input& input : inputs_) {
    input.value /= std::sqrt(squares);
    const float* const weights = weights_.data() + input.row * averages_.size();
    for (size_t e = 0; e < averages_.size(); ++e) {
      predicted_[e] += input.value * weights[e];
    }
  }
  for (size_t e = 0; e < averages_.size(); ++e) {
    const float average = scale * averages_[e];
    expected_[e] = std::clamp(predicted_[e], kLeast * average, kMost * average);
  }
}

}  // namespace coli
