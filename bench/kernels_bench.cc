// Speed of the matrix products, beside the speed of plainly reading the same bytes in the same
// minute.
//
//   kernels_bench                                                     everything
//   kernels_bench --benchmark_filter='matvec/int4-row/.*/threads:2'   some
//
// The matrices have the shapes of GLM-5.2's experts, lie in huge pages, are used in random order
// and come from RAM; every thread takes its share of the rows. What is compared alternates every
// few matrices, so that both see the same neighbours; the best round of each counts.
//
// matvec/FORMAT/SHAPE/ISA/threads:N   one activation row, 1 GiB of weights. Counters: GB/s of
//   weights (codes and scales), `read` GB/s of the plain read, `share` of the former in the latter.
// batch/.../tokens:T/threads:N   T activation rows. Counters: `GMAC/s` multiply-adds per second and
//   thread, `gain` over the T rows one by one.
// prepare/FORMAT/ISA   laying out one activation row.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bench/run_benchmarks.h"
#include "kernels/dispatch.h"
#include "measure/product_bench.h"
#include "measure/weight_set.h"

namespace coli {
namespace {

constexpr size_t kStreamBytes = size_t{1} << 30;
constexpr size_t kBatchBytes = size_t{192} << 20;  // many times the last-level cache

// What all matrices are made of.
std::span<std::byte> Memory() {
  static const AlignedBuffer buffer = [] {
    AlignedBuffer memory = AlignedBuffer::Allocate(kStreamBytes).value();
    FillWithCodes(memory.bytes());
    return memory;
  }();
  return buffer.bytes();
}

// Repeats rounds of `kind`; the best of each of its seconds.
ProductBench::Seconds BestRounds(benchmark::State& state, ProductBench& bench,
                                 ProductBench::Seconds (ProductBench::*kind)()) {
  constexpr double kLongest = std::numeric_limits<double>::max();
  ProductBench::Seconds best{kLongest, kLongest, kLongest};
  for (auto _ : state) {
    const ProductBench::Seconds round = (bench.*kind)();
    state.SetIterationTime(std::max(round.together, round.alone) *
                           static_cast<double>(bench.matrices()));
    best = {std::min(best.together, round.together), std::min(best.alone, round.alone),
            std::min(best.read, round.read)};
  }
  return best;
}

void MatVec(benchmark::State& state, const ProductBench::Case& c) {
  ProductBench bench = ProductBench::Create(c, Memory()).value();
  const ProductBench::Seconds best = BestRounds(state, bench, &ProductBench::OneRow);
  const double gigabytes = static_cast<double>(bench.matrix_bytes()) * 1e-9;
  state.counters["GB/s"] = gigabytes / best.alone;
  state.counters["read"] = gigabytes / best.read;
  state.counters["share"] = best.read / best.alone;
}

void Batch(benchmark::State& state, const ProductBench::Case& c) {
  ProductBench bench = ProductBench::Create(c, Memory()).value();
  const ProductBench::Seconds best = BestRounds(state, bench, &ProductBench::AllRows);
  state.counters["GMAC/s"] = 1e-9 * bench.products() * c.tokens / best.together / c.threads;
  state.counters["gain"] = best.alone * c.tokens / best.together;
}

void Prepare(benchmark::State& state, const KernelTable& table, Format format) {
  const uint32_t cols = kExpertShapes[0].cols;
  const MatrixKernels& kernels = table.For(format);
  const AlignedBuffer out = AlignedBuffer::Allocate(kernels.prepared_bytes(format, cols)).value();
  const std::vector<float> x(cols, 0.7F);
  for (auto _ : state) {
    kernels.prepare(format, x.data(), cols, out.data());
    benchmark::DoNotOptimize(out.data());
  }
}

void RegisterProducts(const std::string& place, ProductBench::Case c) {
  const std::string name = place + "/" + std::to_string(c.shape.rows) + "x" +
                           std::to_string(c.shape.cols) + "/" + std::string(c.table->name);
  const bool scalar = c.table->isa == Isa::kScalar;  // slow: one matrix
  for (const uint32_t threads : {1U, 2U}) {
    const std::string suffix = "/threads:" + std::to_string(threads);
    c.threads = threads;
    c.tokens = 1;
    c.max_bytes = scalar ? 1 : kStreamBytes;
    benchmark::RegisterBenchmark(("matvec/" + name + suffix).c_str(), MatVec, c)->UseManualTime();
    c.max_bytes = scalar ? 1 : kBatchBytes;
    for (const uint32_t tokens : {2U, 4U, 8U, 16U, 32U, 64U}) {
      c.tokens = tokens;
      benchmark::RegisterBenchmark(
          ("batch/" + name + "/tokens:" + std::to_string(tokens) + suffix).c_str(), Batch, c)
          ->UseManualTime();
    }
  }
}

void RegisterAll() {
  for (const KernelTable* table : AvailableKernels()) {
    for (const auto& [name, format] : kMeasuredFormats) {
      for (const MatrixShape shape : kExpertShapes) {
        RegisterProducts(std::string(name), {table, format, shape, 1, 1, 0});
      }
      benchmark::RegisterBenchmark(
          ("prepare/" + std::string(name) + "/" + std::string(table->name)).c_str(), Prepare,
          *table, format);
    }
  }
}

}  // namespace
}  // namespace coli

int main(int argc, char** argv) {
  coli::RegisterAll();
  return coli::RunBenchmarks(argc, argv);
}
