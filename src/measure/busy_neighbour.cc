#include "measure/busy_neighbour.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "measure/stopwatch.h"
#include "sys/plain_read.h"

namespace coli {
namespace {

void StayOnTheLastCore() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) {
    return;
  }
  size_t last = CPU_SETSIZE - 1;
  while (last > 0 && !CPU_ISSET(last, &cores)) {
    --last;
  }
  CPU_ZERO(&cores);
  CPU_SET(last, &cores);
  ::sched_setaffinity(0, sizeof(cores), &cores);
}

}  // namespace

BusyNeighbour::BusyNeighbour()
    : thread_([](const std::stop_token& stop) {
        StayOnTheLastCore();
        while (!stop.stop_requested()) {
          Compute(1000);
        }
      }) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until it is there
}

void Compute(uint64_t amount) {
  double sum = 1;
  for (uint64_t i = 0; i < amount; ++i) {
    for (int k = 0; k < 16; ++k) {
      sum += 1e-9;
    }
    Keep(sum);
  }
}

uint64_t ComputeAmount(double seconds) {
  constexpr uint64_t kTrial = 100'000;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 20; ++i) {
    const double begin = WallSeconds();
    Compute(kTrial);
    best = std::min(best, WallSeconds() - begin);
  }
  return std::max<uint64_t>(1, static_cast<uint64_t>(seconds / best * kTrial));
}

double LoopsPerSecond(ThreadPool& pool, uint64_t amount, double seconds) {
  constexpr size_t kChunks = 128;
  const double begin = WallSeconds();
  double loops = 0;
  while (WallSeconds() - begin < seconds) {
    pool.ParallelFor(kChunks, 1, [&](size_t, size_t, size_t) { Compute(amount); });
    ++loops;
  }
  return loops / (WallSeconds() - begin);
}

}  // namespace coli
