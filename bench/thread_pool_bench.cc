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
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "bench/run_benchmarks.h"
#include "sys/thread_pool.h"

namespace coli {
namespace {

constexpr size_t kChunks = 128;
constexpr double kChunkSeconds = 10e-6;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
    const double begin = Seconds();
    loop();
    asleep += Seconds() - begin;
  }
  state.counters["asleep_us"] = asleep / kPauses * 1e6;
}

// A fixed amount of arithmetic, `amount` times 16 dependent additions.
void Compute(uint64_t amount) {
  double sum = 1;
  for (uint64_t i = 0; i < amount; ++i) {
    for (int k = 0; k < 16; ++k) {
      sum += 1e-9;
    }
    benchmark::DoNotOptimize(sum);
  }
}

uint64_t AmountOf(double seconds) {
  constexpr uint64_t kTrial = 100'000;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 20; ++i) {
    const double begin = Seconds();
    Compute(kTrial);
    best = std::min(best, Seconds() - begin);
  }
  return std::max<uint64_t>(1, static_cast<uint64_t>(seconds / best * kTrial));
}

// Loops per second over `seconds`.
double LoopsPerSecond(ThreadPool& pool, uint64_t amount, double seconds) {
  const double begin = Seconds();
  uint64_t loops = 0;
  while (Seconds() - begin < seconds) {
    pool.ParallelFor(kChunks, 1, [&](size_t, size_t, size_t) { Compute(amount); });
    ++loops;
  }
  return static_cast<double>(loops) / (Seconds() - begin);
}

void Neighbour(benchmark::State& state, size_t threads, bool bound) {
  const uint64_t amount = AmountOf(kChunkSeconds);
  ThreadPool pool(threads, bound ? std::optional(PhysicalCores()) : std::nullopt);
  double alone = 0;
  double beside = 0;
  double rounds = 0;
  for (auto _ : state) {
    alone += LoopsPerSecond(pool, amount, 0.5);
    std::jthread neighbour([](const std::stop_token& stop) {
      cpu_set_t last;  // a core that the calling thread need not be on
      ::sched_getaffinity(0, sizeof(last), &last);
      size_t core = CPU_SETSIZE - 1;
      while (core > 0 && !CPU_ISSET(core, &last)) {
        --core;
      }
      CPU_ZERO(&last);
      CPU_SET(core, &last);
      ::sched_setaffinity(0, sizeof(last), &last);
      while (!stop.stop_requested()) {
        Compute(1000);
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    beside += LoopsPerSecond(pool, amount, 0.5);
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
