// The experts of one layer of GLM-5.2's shape, resident, beside the speed of plainly reading the
// same bytes with the same threads in the same minute.
//
//   moe_bench                                          everything, with a thread per core
//   moe_bench --threads=1 --benchmark_filter=decode
//
// decode: one row through eight routed experts and the shared one, int4-row, a different set of
//   experts each time. Counters, best of all runs: `ms`; `read_ms`, the plain read; `x_read`, the
//   former over the latter; `kernel_ms`, the products alone.
// one_by_one: the same, each expert alone. Its twin: what computing them together saves.
// batch: as many rows for each expert as a slice of 128, 512 or 4096 tokens gives it on average.
//   Counters: `GMAC/s`; `kernel`, the same products without anything around them; `share`.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "bench/run_benchmarks.h"
#include "kernels/dispatch.h"
#include "measure/expert_bench.h"
#include "measure/weight_set.h"
#include "sys/physical_cores.h"

namespace coli {
namespace {

constexpr size_t kLayers = 7;  // 1.2 GB: no cache holds what comes round again
constexpr uint32_t kMaxRows = 128;
constexpr double kNever = std::numeric_limits<double>::infinity();

void Decode(benchmark::State& state, ExpertBench& bench, bool together) {
  double best = kNever;
  double best_read = kNever;
  double best_bare = kNever;
  size_t layer = 0;
  for (auto _ : state) {
    const double seconds = together ? bench.Together(layer, 1) : bench.OneByOne(layer, 1);
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    best_read = std::min(best_read, bench.Read(layer + kLayers / 2));
    best_bare = std::min(best_bare, bench.Products(layer + kLayers / 4, 1));
    ++layer;
  }
  state.counters["ms"] = best * 1e3;
  state.counters["read_ms"] = best_read * 1e3;
  state.counters["read_GB/s"] = static_cast<double>(ExpertBench::layer_bytes()) * 1e-9 / best_read;
  state.counters["kernel_ms"] = best_bare * 1e3;
  state.counters["x_read"] = best / best_read;
}

void Batch(benchmark::State& state, ExpertBench& bench, uint32_t rows) {
  double best = kNever;
  double best_bare = kNever;
  size_t layer = 0;
  for (auto _ : state) {
    const double seconds = bench.Together(layer, rows);
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    best_bare = std::min(best_bare, bench.Products(layer, rows));
    ++layer;
  }
  const double products = 1e-9 * ExpertBench::layer_products() * rows;
  state.counters["GMAC/s"] = products / best;
  state.counters["kernel"] = products / best_bare;
  state.counters["share"] = best_bare / best;
}

void Register(ExpertBench& bench) {
  const auto add = [](const std::string& name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime();
  };
  add("decode", [&](benchmark::State& state) { Decode(state, bench, true); });
  add("one_by_one", [&](benchmark::State& state) { Decode(state, bench, false); });
  for (const uint32_t rows : {4U, 16U, 128U}) {
    add("batch/rows:" + std::to_string(rows),
        [&bench, rows](benchmark::State& state) { Batch(state, bench, rows); });
  }
}

}  // namespace
}  // namespace coli

int main(int argc, char** argv) {
  const coli::PhysicalCores cores;
  size_t threads = cores.count();
  constexpr std::string_view kThreads = "--threads=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kThreads)) {
    threads = std::strtoul(argv[1] + kThreads.size(), nullptr, 10);
    std::rotate(argv + 1, argv + 2, argv + argc);
    --argc;
  }
  coli::ThreadPool pool(std::max<size_t>(threads, 1), cores);
  const coli::AlignedBuffer memory =
      coli::AlignedBuffer::Allocate(coli::kLayers * coli::ExpertBench::layer_bytes()).value();
  coli::FillWithCodes(memory.bytes());
  coli::ExpertBench bench =
      coli::ExpertBench::Create(**coli::SelectKernels("auto"), pool, memory.bytes(), coli::kMaxRows)
          .value();
  coli::Register(bench);
  return coli::RunBenchmarks(argc, argv);
}
