// Another program that computes without a pause, and loops that it disturbs.
#pragma once

#include <cstdint>
#include <thread>

#include "sys/thread_pool.h"

namespace coli {

// A thread that computes while this lives, held on the last core that the process may use: one that
// the caller need not be on.
class BusyNeighbour {
 public:
  BusyNeighbour();

 private:
  std::jthread thread_;
};

// A fixed amount of arithmetic, in no unit.
void Compute(uint64_t amount);
// The amount that takes so long on an idle core.
uint64_t ComputeAmount(double seconds);

// Parallel loops of the length of a product of one row, per second, over `seconds`. `amount`: of
// each of a loop's chunks.
double LoopsPerSecond(ThreadPool& pool, uint64_t amount, double seconds);
inline constexpr double kLoopChunkSeconds = 10e-6;

}  // namespace coli
