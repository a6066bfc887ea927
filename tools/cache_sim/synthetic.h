// Routing that was made up: for experiments on shapes of which there is no recorded trace. It has
// locality, and nothing else that real routing has; what it says must be confirmed on real traces.
#pragma once

#include <cstdint>

#include "store/routing_trace.h"

namespace coli::cache_sim {

// The logit of an expert is popularity + slow + fast: a constant of the expert and two
// autoregressive processes of first order, all normal and independent.
struct SyntheticRouting {
  uint32_t layers = 75;
  uint32_t experts = 256;
  uint32_t experts_per_token = 8;
  uint64_t expert_bytes = 18'915'328;  // int4, 2048 x 6144, with scales per row
  uint32_t tokens = 600;
  uint64_t seed = 1;
  double popularity_sd = 0;
  double slow_sd = 0;
  double slow_decay = 0;  // of the correlation, per token
  double fast_sd = 0;
  double fast_decay = 0;
};

// 75 layers x 256 experts, top 8, so that consecutive tokens share about 37 % of their experts and
// foresight hits about 11.7, 21.7, 36.5 and 51.5 % with 1, 2, 4 and 8 places per layer: what was
// measured of GLM-5.2.
SyntheticRouting CalibratedRouting();

// The scores are the sigmoid of the logits, the 32 highest of each row.
RoutingTrace MakeTrace(const SyntheticRouting& routing);

}  // namespace coli::cache_sim
