#include "tools/cache_sim/synthetic.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace coli::cache_sim {
namespace {

// The experts of one layer.
class Router {
 public:
  Router(const SyntheticRouting& routing, std::mt19937_64& random)
      : routing_(routing), experts_(routing.experts) {
    for (Expert& expert : experts_) {
      expert.popularity = routing.popularity_sd * normal_(random);
      expert.slow = normal_(random);
      expert.fast = normal_(random);
    }
  }

  // The best of the next token, highest score first.
  const std::vector<RankedExpert>& Next(std::mt19937_64& random) {
    ranked_.clear();
    for (size_t e = 0; e < experts_.size(); ++e) {
      Expert& expert = experts_[e];
      Step(expert.slow, routing_.slow_decay, random);
      Step(expert.fast, routing_.fast_decay, random);
      const double logit =
          expert.popularity + routing_.slow_sd * expert.slow + routing_.fast_sd * expert.fast;
      ranked_.push_back({ExpertId{static_cast<int32_t>(e)},
                         static_cast<float>(1 / (1 + std::exp(-logit))), false});
    }
    const size_t kept = std::min<size_t>(ranked_.size(), RoutingTrace::kScores);
    std::ranges::partial_sort(ranked_, ranked_.begin() + static_cast<ptrdiff_t>(kept),
                              std::ranges::greater{}, &RankedExpert::score);
    ranked_.resize(kept);
    for (size_t rank = 0; rank < routing_.experts_per_token; ++rank) {
      ranked_[rank].chosen = true;
    }
    return ranked_;
  }

 private:
  struct Expert {
    double popularity;
    double slow;  // of unit variance, as fast
    double fast;
  };

  void Step(double& value, double decay, std::mt19937_64& random) {
    value = decay * value + std::sqrt(1 - decay * decay) * normal_(random);
  }

  const SyntheticRouting& routing_;
  std::vector<Expert> experts_;
  std::vector<RankedExpert> ranked_;
  std::normal_distribution<double> normal_;
};

}  // namespace

SyntheticRouting CalibratedRouting() {
  SyntheticRouting routing;
  routing.popularity_sd = 0.56;
  routing.slow_sd = 0.31;
  routing.slow_decay = 0.83;
  routing.fast_sd = 0.77;
  routing.fast_decay = 0.59;
  return routing;
}

RoutingTrace MakeTrace(const SyntheticRouting& routing) {
  RoutingTraceHeader header;
  header.experts_per_token = routing.experts_per_token;
  header.layers.assign(routing.layers, {routing.experts, routing.expert_bytes});
  RoutingTrace trace(std::move(header));
  std::mt19937_64 random(routing.seed);
  std::vector<Router> routers;
  for (uint32_t layer = 0; layer < routing.layers; ++layer) {
    routers.emplace_back(routing, random);
  }
  for (uint32_t token = 0; token < routing.tokens; ++token) {
    for (uint32_t layer = 0; layer < routing.layers; ++layer) {
      trace.Append({LayerId{static_cast<int32_t>(layer)}, true, routers[layer].Next(random)});
    }
  }
  return trace;
}

}  // namespace coli::cache_sim
