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
#include <chrono>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "bench/plain_read.h"
#include "bench/run_benchmarks.h"
#include "kernels/dispatch.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr uint32_t kHidden = 6144;
constexpr uint32_t kInner = 2048;
constexpr uint32_t kExpertsPerToken = 9;  // with the shared one
constexpr uint32_t kLayers = 7;           // 1.2 GB: no cache holds what comes round again
constexpr Format kFormat{FormatId::kInt4Row};
constexpr uint32_t kMaxRows = 128;
constexpr size_t kReadPiece = size_t{256} << 10;  // handed to a thread at a time

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Experts {
 public:
  Experts() : bytes_(MapHuge(total_bytes())) {
    std::mt19937_64 random(1);
    for (size_t i = 0; i + 8 <= total_bytes(); i += 8) {
      const uint64_t word = random();
      std::memcpy(bytes_.get() + i, &word, 8);
    }
    for (uint32_t e = 0; e < kLayers * kExpertsPerToken; ++e) {
      std::byte* at = bytes_.get() + e * expert_bytes();
      const WeightView gate = Place(at, kInner, kHidden);
      const WeightView up = Place(at, kInner, kHidden);
      const WeightView down = Place(at, kHidden, kInner);
      views_.push_back({gate, up, down});
    }
    std::ranges::shuffle(views_, random);
  }
  const FfnView& view(uint32_t layer, uint32_t expert) const {
    return views_[layer * kExpertsPerToken + expert];
  }
  static size_t expert_bytes() {
    return 2 * MatrixBytes(kInner, kHidden) + MatrixBytes(kHidden, kInner);
  }
  static size_t layer_bytes() { return expert_bytes() * kExpertsPerToken; }
  const std::byte* layer(uint32_t layer) const { return bytes_.get() + layer * layer_bytes(); }

 private:
  static size_t total_bytes() { return layer_bytes() * kLayers; }
  static size_t MatrixBytes(uint32_t rows, uint32_t cols) {
    return *CodeBytes(kFormat, rows, cols) + *ScaleBytes(kFormat, rows, cols);
  }
  static WeightView Place(std::byte*& at, uint32_t rows, uint32_t cols) {
    std::byte* const codes = at;
    std::byte* const scales = codes + *CodeBytes(kFormat, rows, cols);
    std::fill_n(reinterpret_cast<float*>(scales), rows, 0.001F);
    at += MatrixBytes(rows, cols);
    return {codes, scales, rows, cols, kFormat};
  }

  Mapping bytes_;
  std::vector<FfnView> views_;
};

// Threads, weights, rows that go in and out; made once.
struct Bench {
  explicit Bench(size_t threads)
      : pool(threads),
        backend(**SelectKernels("auto"), pool),
        x(size_t{kMaxRows} * kHidden),
        y(size_t{kMaxRows} * kExpertsPerToken * kHidden) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    std::ranges::generate(x, [&] { return normal(random); });
    for (uint32_t r = 0; r < kMaxRows; ++r) {
      inputs.push_back(x.data() + size_t{r} * kHidden);
    }
    if (!backend.Reserve({64, kHidden, kInner})) {
      throw std::bad_alloc();
    }
  }
  std::vector<FfnTask> Tasks(uint32_t layer, uint32_t rows) {
    std::vector<FfnTask> tasks;
    for (uint32_t e = 0; e < kExpertsPerToken; ++e) {
      const MatrixView out{y.data() + size_t{e} * rows * kHidden, rows, kHidden, kHidden};
      tasks.push_back({&experts.view(layer, e), std::span(inputs).first(rows), out});
    }
    return tasks;
  }
  double ReadSeconds(uint32_t layer) {
    const double begin = Seconds();
    const std::byte* const bytes = experts.layer(layer);
    pool.ParallelFor(Experts::layer_bytes(), kReadPiece, [&](size_t from, size_t to, size_t) {
      benchmark::DoNotOptimize(PlainRead(bytes + from, to - from));
    });
    return Seconds() - begin;
  }

  Experts experts;
  ThreadPool pool;
  Backend backend;
  std::vector<float> x;
  std::vector<float> y;
  std::vector<const float*> inputs;
};

// The products of `tasks` on inputs that are prepared already; each thread takes some rows of one
// matrix, as the backend does.
class BareProducts {
 public:
  BareProducts(Bench& bench, uint32_t rows)
      : bench_(bench), kernels_(bench.backend.kernels().For(kFormat)), rows_(rows) {
    for (const uint32_t cols : {kHidden, kInner}) {
      const size_t row_bytes = kernels_.prepared_bytes(kFormat, cols);
      prepared_.push_back(MapHuge(row_bytes * rows));
      for (uint32_t r = 0; r < rows; ++r) {
        kernels_.prepare(kFormat, bench.inputs[r], cols, prepared_.back().get() + r * row_bytes);
      }
    }
  }
  void Run(const FfnTask& task) {
    Multiply(task.w->gate, 0, task.y);
    Multiply(task.w->up, 0, task.y);
    Multiply(task.w->down, 1, task.y);
  }

 private:
  void Multiply(const WeightView& w, size_t input, MatrixView y) {
    const PreparedRows x{prepared_[input].get(), kernels_.prepared_bytes(kFormat, w.cols), rows_};
    bench_.pool.ParallelFor(w.rows, 128, [&](size_t begin, size_t end, size_t) {
      kernels_.multiply(w, x, static_cast<uint32_t>(begin), static_cast<uint32_t>(end), y.data,
                        y.stride);
    });
  }

  Bench& bench_;
  const MatrixKernels& kernels_;
  uint32_t rows_;
  std::vector<Mapping> prepared_;  // of 6144 and of 2048 columns
};

void Decode(benchmark::State& state, Bench& bench, bool together) {
  double best = std::numeric_limits<double>::infinity();
  double best_read = best;
  double best_bare = best;
  BareProducts bare(bench, 1);
  uint32_t layer = 0;
  for (auto _ : state) {
    const std::vector<FfnTask> tasks = bench.Tasks(layer, 1);
    const double begin = Seconds();
    if (together) {
      bench.backend.Ffn(tasks);
    } else {
      for (const FfnTask& task : tasks) {
        bench.backend.Ffn(std::span(&task, 1));
      }
    }
    const double seconds = Seconds() - begin;
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    best_read = std::min(best_read, bench.ReadSeconds((layer + kLayers / 2) % kLayers));
    const double bare_begin = Seconds();
    for (const FfnTask& task : bench.Tasks((layer + kLayers / 4) % kLayers, 1)) {
      bare.Run(task);
    }
    best_bare = std::min(best_bare, Seconds() - bare_begin);
    layer = (layer + 1) % kLayers;
  }
  state.counters["ms"] = best * 1e3;
  state.counters["read_ms"] = best_read * 1e3;
  state.counters["read_GB/s"] = static_cast<double>(Experts::layer_bytes()) * 1e-9 / best_read;
  state.counters["kernel_ms"] = best_bare * 1e3;
  state.counters["x_read"] = best / best_read;
}

void Batch(benchmark::State& state, Bench& bench, uint32_t rows) {
  double best = std::numeric_limits<double>::infinity();
  double best_bare = best;
  BareProducts bare(bench, rows);
  uint32_t layer = 0;
  for (auto _ : state) {
    const std::vector<FfnTask> tasks = bench.Tasks(layer, rows);
    const double begin = Seconds();
    bench.backend.Ffn(tasks);
    const double middle = Seconds();
    state.SetIterationTime(middle - begin);
    for (const FfnTask& task : tasks) {
      bare.Run(task);
    }
    best = std::min(best, middle - begin);
    best_bare = std::min(best_bare, Seconds() - middle);
    layer = (layer + 1) % kLayers;
  }
  const double products = 3.0 * kHidden * kInner * kExpertsPerToken * rows * 1e-9;
  state.counters["GMAC/s"] = products / best;
  state.counters["kernel"] = products / best_bare;
  state.counters["share"] = best_bare / best;
}

}  // namespace
}  // namespace coli

int main(int argc, char** argv) {
  size_t threads = coli::PhysicalCores().count();
  constexpr std::string_view kThreads = "--threads=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kThreads)) {
    threads = std::strtoul(argv[1] + kThreads.size(), nullptr, 10);
    std::rotate(argv + 1, argv + 2, argv + argc);
    --argc;
  }
  coli::Bench bench(std::max<size_t>(threads, 1));
  const auto add = [](const std::string& name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime();
  };
  add("decode", [&](benchmark::State& state) { coli::Decode(state, bench, true); });
  add("one_by_one", [&](benchmark::State& state) { coli::Decode(state, bench, false); });
  for (const uint32_t rows : {4U, 16U, 128U}) {
    add("batch/rows:" + std::to_string(rows),
        [&bench, rows](benchmark::State& state) { coli::Batch(state, bench, rows); });
  }
  return coli::RunBenchmarks(argc, argv);
}
