// Which experts a token goes to, and with what weight: the "noaux_tc" router (sigmoid scores, a
// correction bias that counts for the selection only, optional groups) of DeepSeek-V3 and GLM-5.
// Source: DeepSeek-V3 report, section 2.1.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/model_config.h"

namespace coli {

struct ExpertChoice {
  ExpertId expert;
  float weight;
};

// Sees what routers say, in the order in which they say it: tokens in order within each layer.
class RouteObserver {
 public:
  virtual ~RouteObserver() = default;
  // `row` of a step; `scores` of all experts are RouteScratch::choices, `chosen` ascends.
  virtual void OnRoute(LayerId layer, uint32_t row, std::span<const float> scores,
                       std::span<const ExpertChoice> chosen) = 0;
};

// Working memory of Route for one configuration. One thread at a time.
struct RouteScratch {
  // y = 1 / (1 + exp(-x)): VectorKernels::sigmoid of any kernel table, which all give the same
  // bits.
  using Sigmoid = void (*)(const float* x, float* y, size_t n);

  RouteScratch(const RouterConfig& config, Sigmoid sigmoid_kernel);

  Sigmoid sigmoid;
  std::vector<float> scores;   // [experts] sigmoid of the logits
  std::vector<float> choices;  // [experts] scores + bias; -inf where the group was not selected
  std::vector<float> group_scores;  // [groups] sum of the two best choices
  std::vector<int32_t> order;       // [experts] indices of experts or groups, partly sorted

  RouteObserver* observer = nullptr;  // of rows that go to their experts
};

// Selects the experts of one row. logits, bias: [experts]. out: [experts_per_token], by ascending
// expert. Higher choice first, then the lower index, for groups and for experts. All arithmetic in
// f32, in a fixed order; no allocation. `config` is validated and the one the scratch was made for.
// Errors: kNumeric when a logit or a choice is not finite; it names the expert, the caller adds the
// layer.
Status Route(const RouterConfig& config, const float* logits, const float* bias,
             RouteScratch& scratch, ExpertChoice* out);

}  // namespace coli
