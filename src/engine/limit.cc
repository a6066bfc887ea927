#include "engine/limit.h"

namespace coli {

std::optional<AnswerLimit> LimitOf(const GenerationStats& stats) {
  const WorkTimes& work = stats.work;
  const double wait_s = work.wait_s();
  const double compute_s = work.compute_s();
  if (!(wait_s + compute_s > 0)) {
    return std::nullopt;
  }
  if (wait_s >= compute_s) {
    return AnswerLimit::kDisk;
  }
  if (!(stats.memory_bytes_per_s > 0)) {
    return AnswerLimit::kCompute;
  }
  const double memory_s = static_cast<double>(work.weight_bytes) / stats.memory_bytes_per_s;
  return memory_s >= compute_s / 2 ? AnswerLimit::kMemory : AnswerLimit::kCompute;
}

std::string_view LimitName(AnswerLimit limit) {
  switch (limit) {
    case AnswerLimit::kDisk:
      return "disk";
    case AnswerLimit::kMemory:
      return "memory";
    case AnswerLimit::kCompute:
      return "compute";
  }
  return {};
}

}  // namespace coli
