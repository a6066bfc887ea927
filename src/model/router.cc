#include "model/router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace coli {
namespace {

// Puts the indices of the `count` largest of `values` first in `order`: higher value first, then
// the lower index.
void SelectLargest(const std::vector<float>& values, size_t count, std::vector<int32_t>& order) {
  const auto begin = order.begin();
  const auto end = begin + static_cast<ptrdiff_t>(values.size());
  std::iota(begin, end, 0);
  std::partial_sort(begin, begin + static_cast<ptrdiff_t>(count), end, [&](int32_t a, int32_t b) {
    const float x = values[static_cast<size_t>(a)];
    const float y = values[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
}

float SumOfTwoLargest(const float* values, size_t count) {
  float first = values[0];
  float second = values[1];
  if (second > first) {
    std::swap(first, second);
  }
  for (size_t i = 2; i < count; ++i) {
    if (values[i] > first) {
      second = first;
      first = values[i];
    } else if (values[i] > second) {
      second = values[i];
    }
  }
  return first + second;
}

// Leaves only the experts of the best groups eligible. The mask is -inf: with 0 an expert of a
// masked group would beat an eligible one whose choice is negative, which the bias allows.
void MaskGroups(const RouterConfig& config, RouteScratch& scratch) {
  const size_t group_size = config.experts / config.groups;
  for (size_t group = 0; group < config.groups; ++group) {
    scratch.group_scores[group] =
        SumOfTwoLargest(scratch.choices.data() + group * group_size, group_size);
  }
  SelectLargest(scratch.group_scores, config.top_groups, scratch.order);
  for (size_t i = config.top_groups; i < config.groups; ++i) {
    const auto first =
        scratch.choices.begin() + scratch.order[i] * static_cast<ptrdiff_t>(group_size);
    std::fill_n(first, group_size, -std::numeric_limits<float>::infinity());
  }
}

// The weights of the chosen experts, from the scores without bias.
void Weigh(const RouterConfig& config, const std::vector<float>& scores, ExpertChoice* chosen) {
  float sum = 0;
  for (uint32_t i = 0; i < config.experts_per_token; ++i) {
    chosen[i].weight = scores[static_cast<size_t>(Raw(chosen[i].expert))];
    sum += chosen[i].weight;
  }
  const float divisor = config.normalize ? sum + 1e-20F : 1.0F;
  for (uint32_t i = 0; i < config.experts_per_token; ++i) {
    chosen[i].weight = chosen[i].weight / divisor * config.scale;
  }
}

}  // namespace

RouteScratch::RouteScratch(const RouterConfig& config, Sigmoid sigmoid_kernel)
    : sigmoid(sigmoid_kernel),
      scores(config.experts),
      choices(config.experts),
      group_scores(config.groups),
      order(config.experts) {}

Status Route(const RouterConfig& config, const float* logits, const float* bias,
             RouteScratch& scratch, ExpertChoice* out) {
  scratch.sigmoid(logits, scratch.scores.data(), config.experts);
  for (size_t e = 0; e < config.experts; ++e) {
    scratch.choices[e] = scratch.scores[e] + bias[e];
    if (!std::isfinite(logits[e]) || !std::isfinite(scratch.choices[e])) {
      return Fail(ErrorCode::kNumeric,
                  "router: expert {}: expected a finite score, found logit {} and bias {}", e,
                  logits[e], bias[e]);
    }
  }

  if (config.groups > 1) {
    MaskGroups(config, scratch);
  }
  SelectLargest(scratch.choices, config.experts_per_token, scratch.order);
  const auto chosen_end = scratch.order.begin() + static_cast<ptrdiff_t>(config.experts_per_token);
  std::sort(scratch.order.begin(), chosen_end);
  for (size_t i = 0; i < config.experts_per_token; ++i) {
    out[i].expert = ExpertId{scratch.order[i]};
  }
  Weigh(config, scratch.scores, out);
  return Ok();
}

}  // namespace coli
