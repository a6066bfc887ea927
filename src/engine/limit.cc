#include "engine/limit.h"

namespace coli {

std::optional<Limit> LimitOf(const GenerationStats& stats) {
  const WorkTimes& work = stats.work;
  const double wait_s = work.wait_s();
  const double compute_s = work.compute_s();
  if (!(wait_s + compute_s > 0)) {
    return std::nullopt;
  }
  if (wait_s >= compute_s) {
    return Limit::kDisk;
  }
  if (!(stats.memory_bytes_per_s > 0)) {
    return Limit::kCompute;
  }
  const double memory_s = static_cast<double>(work.weight_bytes) / stats.memory_bytes_per_s;
  return memory_s >= compute_s / 2 ? Limit::kMemory : Limit::kCompute;
}

std::string_view LimitName(Limit limit) {
  switch (limit) {
    case Limit::kDisk:
      return "disk";
    case Limit::kMemory:
      return "memory";
    case Limit::kCompute:
      return "compute";
  }
  return {};
}

}  // namespace coli
