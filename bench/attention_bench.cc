// Attention of a decoded token in one layer of GLM-5.2's shape, beside the limits of this machine
// in the same minute: the peak of f32 multiply-adds and the speed of plainly reading memory.
//
//   attention_bench                                          everything, one thread
//   attention_bench --threads=2 --benchmark_filter=selected
//
// all/POSITIONS/FORMAT        every cached position is attended to, without selection.
// selected/POSITIONS/FORMAT   2048 of them at random places, another choice each time: what DSA
//                             leaves.
// slice/POSITIONS/FORMAT      64 rows of a prompt, each with a choice of its own; `ms` of all.
// scan/POSITIONS/FORMAT       the indexer: scores of all positions, then the choice of 2048.
//
// FORMAT is that of the cache, f32 or bf16. Layers take turns, so that their keys and weights come
// from RAM. The time includes both products with kv_b, but not the projections before and after
// (kernels_bench has such products). Counters, best of all runs: `ms`; `GMAC/s` with cached values,
// and their share `of_peak`; `GB/s` of cached values, each counted once, and their share `of_read`.
// `peak` and `read` are the limits. One thread is timed by its own clock, several by the wall's.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "bench/run_benchmarks.h"
#include "kernels/dispatch.h"
#include "measure/attention_parts.h"
#include "measure/stopwatch.h"
#include "measure/weight_set.h"
#include "model/attention_mla.h"
#include "model/indexer.h"
#include "sys/plain_read.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr uint32_t kLayers = 4;  // their kv_b alone is more than the caches hold
constexpr uint32_t kSelected = 2048;
constexpr size_t kChoices = 16;
constexpr size_t kReadBytes = size_t{1} << 30;
constexpr size_t kReadPiece = size_t{64} << 20;  // read between two runs
constexpr Format kWeights{FormatId::kInt8Row};

// 12 independent chains: enough for the latency of two multiply-adds per cycle.
constexpr size_t kChains = 12;
constexpr size_t kBurst = 20'000;
#if defined(__x86_64__)
constexpr double kBurstProducts = 8.0 * kChains * kBurst;
__attribute__((target("avx2,fma"), noinline)) void MultiplyAddBurst() {
  __m256 sums[kChains];
  const __m256 x = _mm256_set1_ps(0.5F);
#pragma GCC unroll 12
  for (__m256& sum : sums) {
    sum = x;
  }
  for (size_t i = 0; i < kBurst; ++i) {
#pragma GCC unroll 12
    for (size_t c = 0; c < kChains; ++c) {
      sums[c] = _mm256_fmadd_ps(x, x, sums[c]);
      __asm__ volatile("" : "+x"(sums[c]));  // stays in its register and in the program
    }
  }
}
#else
constexpr double kBurstProducts = 4.0 * kChains * kBurst;
__attribute__((noinline)) void MultiplyAddBurst() {
  float32x4_t sums[kChains];
  const float32x4_t x = vdupq_n_f32(0.5F);
#pragma GCC unroll 12
  for (float32x4_t& sum : sums) {
    sum = x;
  }
  for (size_t i = 0; i < kBurst; ++i) {
#pragma GCC unroll 12
    for (size_t c = 0; c < kChains; ++c) {
      sums[c] = vfmaq_f32(sums[c], x, x);
      __asm__ volatile("" : "+w"(sums[c]));
    }
  }
}
#endif

ModelConfig Config(uint32_t top_k) {
  ModelConfig config = Glm52Attention();
  config.hidden_size = 64;  // the output projection is not what is measured
  config.indexer.top_k = top_k;
  config.layers.assign(kLayers, config.layers.front());
  return config;
}

// Memory for weights, or to be read.
AlignedBuffer RandomCodes(size_t bytes) {
  AlignedBuffer memory = AlignedBuffer::Allocate(bytes).value();
  FillWithCodes(memory.bytes());
  return memory;
}

// The threads, and what the machine can do with them.
class Machine {
 public:
  explicit Machine(size_t threads)
      : pool(threads), backend(**SelectKernels("auto"), pool), memory_(RandomCodes(kReadBytes)) {}
  double Seconds() const { return pool.threads() == 1 ? ThreadSeconds() : WallSeconds(); }
  // Improves the limits by another try.
  void MeasureLimits() {
    double begin = Seconds();
    pool.ParallelFor(pool.threads(), 1, [](size_t, size_t, size_t) { MultiplyAddBurst(); });
    const auto threads = static_cast<double>(pool.threads());
    peak = std::max(peak, threads * kBurstProducts / (Seconds() - begin));
    begin = Seconds();
    PoolRead(pool, memory_.bytes().subspan(next_, kReadPiece));
    read = std::max(read, static_cast<double>(kReadPiece) / (Seconds() - begin));
    next_ = (next_ + kReadPiece) % kReadBytes;
  }

  ThreadPool pool;
  Backend backend;
  double peak = 0;  // multiply-adds per second
  double read = 0;  // bytes per second

 private:
  AlignedBuffer memory_;
  size_t next_ = 0;
};

// The last rows of a sequence with `positions` cached positions in every layer.
struct Shape {
  uint32_t positions;
  uint32_t top_k = kSelected;
  uint32_t rows = 1;
  FormatId format = FormatId::kF32;
};

class Sequence {
 public:
  Sequence(Machine& machine, const Shape& shape)
      : machine_(machine),
        positions_(shape.positions),
        config_(Config(shape.top_k)),
        cache_(*KvCache::Create(config_, {.capacity = shape.positions, .format = shape.format})),
        codes_(RandomCodes(
            kLayers * (WeightSet::Stride(kWeights, {kv_b_rows(), config_.attention.kv_lora_rank}) +
                       WeightSet::Stride(kWeights, {config_.hidden_size, heads_cols()})))),
        activations_(*ActivationMemory::Create(config_, shape.rows, 1)),
        selection_(shape.rows, shape.top_k),
        scratch_(*AttentionScratch::Create(config_, machine.pool.threads(), shape.positions)),
        indexer_scratch_(config_, machine.pool.threads(), shape.positions) {
    if (!machine.backend.Reserve(BackendRoomFor(config_))) {
      throw std::bad_alloc();
    }
    batch_.caches = {&cache_};
    for (uint32_t r = shape.rows; r > 0; --r) {
      batch_.rows.push_back({.position = shape.positions - r});
    }
    MatrixSupply matrices(codes_.bytes());
    weights_.resize(kLayers);
    for (AttentionWeights& w : weights_) {
      w.kv_b = matrices.Next(kWeights, kv_b_rows(), config_.attention.kv_lora_rank);
      w.o = matrices.Next(kWeights, config_.hidden_size, heads_cols());
    }
    std::mt19937_64 random(1);
    FillCache(config_, random, cache_);
    const Activations& a = activations_.views;
    for (const MatrixView& view : {a.q, a.index_q, a.index_weights}) {
      for (uint32_t r = 0; r < shape.rows; ++r) {
        FillNormal({view.row(r), view.cols}, random);
      }
    }
    for (auto& choice : choices_) {
      choice = Choose(random);
    }
  }

  Step NewStep() { return Step(batch_, activations_.views, selection_.view()); }
  void Attend(uint32_t turn, bool all) {
    Step step = NewStep();
    for (uint32_t r = 0; r < step.rows(); ++r) {
      if (all) {
        step.selection.SelectAll(r);
        continue;
      }
      const std::vector<uint32_t>& choice = choices_[(turn + r) % kChoices];
      std::ranges::copy(choice, step.selection.SelectSome(r, static_cast<uint32_t>(choice.size())));
    }
    const uint32_t layer = turn % kLayers;
    LatentAttention(config_, weights_[layer], Id(layer), machine_.backend)
        .Attend(step, scratch_, false);
  }
  void Scan(uint32_t turn) {
    Step step = NewStep();
    const uint32_t layer = turn % kLayers;
    if (!Indexer(config_, indexer_weights_, Id(layer), machine_.backend)
             .Select(step, indexer_scratch_)) {
      std::abort();  // random keys have finite scores
    }
  }
  const ModelConfig& config() const { return config_; }

 private:
  static LayerId Id(uint32_t layer) { return LayerId{static_cast<int32_t>(layer)}; }
  uint32_t kv_b_rows() const {
    const AttentionConfig& d = config_.attention;
    return d.heads * (d.qk_nope_head_dim + d.v_head_dim);
  }
  uint32_t heads_cols() const { return config_.attention.heads * config_.attention.v_head_dim; }
  // Ascending positions.
  std::vector<uint32_t> Choose(std::mt19937_64& random) const {
    std::vector<uint32_t> all(positions_);
    std::ranges::generate(all, [i = 0U]() mutable { return i++; });
    std::vector<uint32_t> chosen;
    std::ranges::sample(all, std::back_inserter(chosen), std::min(kSelected, positions_), random);
    return chosen;
  }

  Machine& machine_;
  const uint32_t positions_;
  const ModelConfig config_;
  KvCache cache_;
  AlignedBuffer codes_;
  std::vector<AttentionWeights> weights_;
  const IndexerWeights indexer_weights_{};  // only projections use them
  Batch batch_;
  ActivationMemory activations_;
  SelectionMemory selection_;
  AttentionScratch scratch_;
  IndexerScratch indexer_scratch_;
  std::array<std::vector<uint32_t>, kChoices> choices_;
};

// What a run does with cached values.
struct Work {
  double products;
  double bytes;
};

void Measure(benchmark::State& state, Machine& machine, const Work& work,
             const std::function<void(uint32_t turn)>& run) {
  double best = std::numeric_limits<double>::infinity();
  uint32_t turn = 0;
  for (auto _ : state) {
    machine.MeasureLimits();
    const double begin = machine.Seconds();
    run(turn++);
    const double seconds = machine.Seconds() - begin;
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
  }
  state.counters["ms"] = best * 1e3;
  state.counters["GMAC/s"] = work.products * 1e-9 / best;
  state.counters["peak"] = machine.peak * 1e-9;
  state.counters["of_peak"] = work.products / best / machine.peak;
  state.counters["GB/s"] = work.bytes * 1e-9 / best;
  state.counters["read"] = machine.read * 1e-9;
  state.counters["of_read"] = work.bytes / best / machine.read;
}

double BytesOf(FormatId format, uint32_t values) {
  return static_cast<double>(Info(format).row_bytes(values));
}

void Attend(benchmark::State& state, Machine& machine, const Shape& shape, bool all) {
  Sequence sequence(machine, shape);
  const AttentionConfig& d = sequence.config().attention;
  const double keys = 1.0 * shape.top_k * shape.rows;
  const Work work{.products = keys * d.heads * (d.latent_dim() + d.kv_lora_rank),
                  .bytes = keys * BytesOf(shape.format, d.latent_dim())};
  Measure(state, machine, work, [&](uint32_t turn) { sequence.Attend(turn, all); });
}

void Scan(benchmark::State& state, Machine& machine, const Shape& shape) {
  Sequence sequence(machine, shape);
  const IndexerConfig& d = sequence.config().indexer;
  const Work work{.products = 1.0 * shape.positions * d.heads * d.head_dim,
                  .bytes = 1.0 * shape.positions * BytesOf(shape.format, d.head_dim)};
  Measure(state, machine, work, [&](uint32_t turn) { sequence.Scan(turn); });
}

void Register(Machine& machine) {
  using Body = std::function<void(benchmark::State&, const Shape&)>;
  const auto add = [](std::string_view name, const Shape& shape, const Body& body) {
    for (const FormatId format : {FormatId::kF32, FormatId::kBf16}) {
      Shape with_format = shape;
      with_format.format = format;
      const std::string full = fmt::format("{}/{}/{}", name, shape.positions, Info(format).name);
      benchmark::RegisterBenchmark(full.c_str(), [body, with_format](benchmark::State& state) {
        body(state, with_format);
      })->UseManualTime();
    }
  };
  const Body all = [&](auto& state, const Shape& shape) { Attend(state, machine, shape, true); };
  const Body some = [&](auto& state, const Shape& shape) { Attend(state, machine, shape, false); };
  const Body scan = [&](auto& state, const Shape& shape) { Scan(state, machine, shape); };
  for (const uint32_t positions : {1U, 2048U, 32768U, 131072U}) {
    add("all", {.positions = positions, .top_k = positions}, all);
  }
  for (const uint32_t positions : {4096U, 32768U, 131072U}) {
    add("selected", {.positions = positions}, some);
    add("slice", {.positions = positions, .rows = kAttentionRows}, some);
    add("scan", {.positions = positions}, scan);
  }
}

}  // namespace
}  // namespace coli

int main(int argc, char** argv) {
  size_t threads = 1;
  constexpr std::string_view kThreads = "--threads=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kThreads)) {
    threads = std::strtoul(argv[1] + kThreads.size(), nullptr, 10);
    std::rotate(argv + 1, argv + 2, argv + argc);
    --argc;
  }
  coli::Machine machine(std::max<size_t>(threads, 1));
  coli::Register(machine);
  return coli::RunBenchmarks(argc, argv);
}
