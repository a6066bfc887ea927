// The compute pool: what a parallel loop costs, and what a neighbour costs.
//
//   thread_pool_bench                                   everything, with a thread per core
//
// empty_loop: a parallel loop with nothing to do, one after the other: the time between two regions
//   while the workers are awake. `asleep_us`: the same after a pause in which they fell asleep.
// neighbour: loops of the length of a product of one row, undisturbed and with a thread of another
//   kind that computes without a pause, held on one core. Counter `share`: the speed beside the
//   neighbour over the undisturbed speed.
#include <benchmark/benchmark.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "bench/run_benchmarks.h"
#include "measure/busy_neighbour.h"
#include "measure/stopwatch.h"
#include "sys/physical_cores.h"
#include "sys/thread_pool.h"

namespace coli {
namespace {

void EmptyLoop(benchmark::State& state, size_t threads, bool bound) {
  ThreadPool pool(threads, bound ? std::optional(PhysicalCores()) : std::nullopt);
  const auto loop = [&] {
    pool.ParallelFor(threads, 1,
                     [](size_t begin, size_t, size_t) { benchmark::DoNotOptimize(begin); });
  };
  for (auto _ : state) {
    loop();
  }
  double asleep = 0;
  constexpr int kPauses = 50;
  for (int i = 0; i < kPauses; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const double begin = WallSeconds();
    loop();
    asleep += WallSeconds() - begin;
  }
  state.counters["asleep_us"] = asleep / kPauses * 1e6;
}

void Neighbour(benchmark::State& state, size_t threads, bool bound) {
  constexpr double kSeconds = 0.5;
  const uint64_t amount = ComputeAmount(kLoopChunkSeconds);
  ThreadPool pool(threads, bound ? std::optional(PhysicalCores()) : std::nullopt);
  double alone = 0;
  double beside = 0;
  double rounds = 0;
  for (auto _ : state) {
    alone += LoopsPerSecond(pool, amount, kSeconds);
    const BusyNeighbour neighbour;
    beside += LoopsPerSecond(pool, amount, kSeconds);
    rounds += 1;
  }
  state.counters["alone"] = alone / rounds;
  state.counters["beside"] = beside / rounds;
  state.counters["share"] = beside / alone;
}

}  // namespace
}  // namespace coli

int main(int argc, char** argv) {
  const size_t cores = coli::PhysicalCores().count();
  struct Case {
    size_t threads;
    bool bound;
  };
  for (const auto& [threads, bound] :
       {Case{cores, false}, Case{cores, true}, Case{2 * cores, false}}) {
    const std::string name = "/threads:" + std::to_string(threads) + (bound ? "/bound" : "/free");
    benchmark::RegisterBenchmark(("empty_loop" + name).c_str(), coli::EmptyLoop, threads, bound);
    benchmark::RegisterBenchmark(("neighbour" + name).c_str(), coli::Neighbour, threads, bound)
        ->Iterations(4)
        ->UseRealTime();
  }
  return coli::RunBenchmarks(argc, argv);
}
