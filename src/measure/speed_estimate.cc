#include "measure/speed_estimate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "measure/engine_figures.h"

namespace coli {
namespace {

// Of a plain read of the same bytes, what writing an answer reaches with everything in memory; of
// random reads alone, what they reach while the engine computes; and of products alone, what a
// prompt reaches, attention included (docs/performance.md, "What a plan foretells").
constexpr double kMemoryShare = 0.84;
constexpr double kDriveShare = 0.9;
constexpr double kProductShare = 0.8;

// Formats with a smaller share of the products are not worth measuring.
constexpr double kLeastProducts = 0.01;

struct HitPoint {
  double cached_share;
  double hit_rate;
};
// Slots of 256 experts in each layer, and hits.
constexpr HitPoint kTextHits[] = {{0, 0},
                                  {5.6 / 256, 0.283},
                                  {11.3 / 256, 0.432},
                                  {22.6 / 256, 0.560},
                                  {45.0 / 256, 0.683},
                                  {90.0 / 256, 0.821},
                                  {1, 1}};

// Experts of a layer that `tokens` choose between them when each chooses for itself.
double DistinctExperts(const ModelCost& cost, double tokens) {
  const double experts = std::max(cost.experts, 1U);
  return experts * (1 - std::pow(1 - cost.experts_per_token / experts, tokens));
}

// Seconds that the products of one token of a prompt take, without any waiting.
double ProductSeconds(const ModelCost& cost, const MachineSpeed& speed) {
  double seconds = 0;
  for (const auto& [format, count] : cost.multiply_adds) {
    const auto found = speed.multiply_adds.find(format);
    seconds += found == speed.multiply_adds.end() ? 0 : count / (kProductShare * found->second);
  }
  return seconds;
}

// Seconds until a prompt is read when no expert is in memory yet: slice by slice, each reads the
// experts that its tokens choose while those before are computed.
double FirstTokenSeconds(const ModelCost& cost, const MachineSpeed& speed,
                         const SpeedQuestion& question) {
  const double products = ProductSeconds(cost, speed);
  const double always_s =
      static_cast<double>(cost.always_bytes) / (kMemoryShare * speed.memory_bytes);
  const double cached = std::min(question.cached_share, 1.0);
  double seconds = 0;
  double read_before = 0;  // tokens
  while (read_before < question.prompt_tokens) {
    const double rows = std::min<double>(question.slice_rows, question.prompt_tokens - read_before);
    // What fits in memory is read once, the rest by each slice.
    const double share = read_before == 0 ? 1 : 1 - cached;
    const double bytes = share * cost.read_bytes * DistinctExperts(cost, rows) /
                         std::max(cost.experts_per_token, 1U);
    seconds += std::max({bytes / (kDriveShare * speed.drive_bytes), rows * products, always_s});
    read_before += rows;
  }
  return seconds;
}

}  // namespace

ModelCost CostOf(const ModelFacts& facts) {
  ModelCost cost;
  cost.expert_bytes = ExpertBytesPerToken(facts);
  cost.always_bytes = WeightBytesPerToken(facts) - cost.expert_bytes;
  cost.read_bytes = static_cast<double>(cost.expert_bytes);
  cost.multiply_adds = ProductsPerToken(facts);
  double all = 0;
  for (const auto& [format, count] : cost.multiply_adds) {
    all += count;
  }
  std::erase_if(cost.multiply_adds,
                [all](const auto& entry) { return entry.second < kLeastProducts * all; });
  cost.experts = facts.config.router.experts;
  cost.experts_per_token = facts.config.router.experts_per_token;
  return cost;
}

double HitRate(double cached_share, Routing routing) {
  const double share = std::clamp(cached_share, 0.0, 1.0);
  if (routing == Routing::kUniform) {
    return share;
  }
  const auto* above = std::ranges::lower_bound(kTextHits, share, {}, &HitPoint::cached_share);
  if (above == std::begin(kTextHits)) {
    return above->hit_rate;
  }
  const HitPoint& below = *std::prev(above);
  const double way = (share - below.cached_share) / (above->cached_share - below.cached_share);
  return below.hit_rate + way * (above->hit_rate - below.hit_rate);
}

std::string_view NameOf(SpeedLimit limit) {
  return limit == SpeedLimit::kDrive ? "the drive" : "reading memory";
}

std::optional<SpeedEstimate> EstimateSpeed(const ModelCost& cost, const MachineSpeed& speed,
                                           const SpeedQuestion& question) {
  SpeedEstimate estimate;
  estimate.hit_rate = HitRate(question.cached_share, question.routing);
  const double missed_bytes = cost.read_bytes * (1 - estimate.hit_rate);
  if (speed.memory_bytes <= 0 || (speed.drive_bytes <= 0 && missed_bytes > 0)) {
    return std::nullopt;
  }
  const double memory = kMemoryShare * speed.memory_bytes;
  const double always_s = static_cast<double>(cost.always_bytes) / memory;
  const double experts_s = static_cast<double>(cost.expert_bytes) / memory;
  const double drive_s = missed_bytes > 0 ? missed_bytes / (kDriveShare * speed.drive_bytes) : 0;
  estimate.slowest = 1 / (always_s + experts_s + drive_s);
  estimate.expected = 1 / (always_s + std::max(experts_s, drive_s));
  estimate.fastest = 1 / std::max(always_s + experts_s, drive_s);
  estimate.limit = drive_s > always_s + experts_s ? SpeedLimit::kDrive : SpeedLimit::kMemory;
  if (speed.drive_bytes > 0) {
    estimate.first_token_s = FirstTokenSeconds(cost, speed, question);
  }
  return estimate;
}

}  // namespace coli
