// What the router of one layer will choose next, from what it said before: an exponential average
// of its scores, and a correction that is learned on the way (which experts follow which).
//
// The average is of softmax(score / temperature). It counts near misses in proportion, which are
// likely choices of the next token. The softmax makes layers comparable and the best experts stand
// out: raw scores lie close together, and their average says little more than recency.
//
// The correction is linear in the best shares of the last token and of the average, and learned by
// least mean squares. It may halve or double what the average says and no more, so that the order
// of experts that are rarely used stays that of the average. Pure; no memory after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "store/cache_policy.h"

namespace coli {

class RoutingForecast {
 public:
  RoutingForecast(size_t experts, const ScoreParameters& parameters);
  // Bytes that one takes.
  static uint64_t Bytes(size_t experts, const ScoreParameters& parameters);

  // The selection scores of the next token; -inf for experts that could not be selected.
  void Observe(std::span<const float> scores);
  // For each expert about how probable it is that the next token chooses it: >= 0, not normalised.
  std::span<const float> expected() const { return expected_; }

 private:
  // One of the numbers that the correction is computed from, and the row of its weights.
  struct Input {
    size_t row;
    float value;
  };

  void TakeShares(std::span<const float> scores);
  void Learn();
  void Average();
  void TakeInputs(std::span<const float> values, size_t first_row);
  void Expect();

  const float decay_;
  const float sharpness_;
  const float rate_;
  const size_t experts_per_token_;
  const size_t inputs_per_source_;  // 0: nothing is learned
  std::vector<float> shares_;       // [E] of the last token
  std::vector<float> averages_;     // [E] of the shares
  std::vector<float> predicted_;    // [E] without the bounds
  std::vector<float> expected_;     // [E]
  std::vector<float> chosen_;       // [E] 1 for the experts of the last token
  std::vector<float> weights_;      // [2E, E] of the correction: from shares, then from averages
  std::vector<Input> inputs_;
  std::vector<size_t> order_;  // [E] experts, partly sorted
};

}  // namespace coli
