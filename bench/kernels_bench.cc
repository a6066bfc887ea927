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
#include <time.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/plain_read.h"
#include "bench/run_benchmarks.h"
#include "kernels/dispatch.h"
#include "tensor/format.h"

namespace coli {
namespace {

struct Shape {
  uint32_t rows;
  uint32_t cols;
};

constexpr Shape kShapes[] = {{2048, 6144}, {6144, 2048}};
constexpr size_t kStreamBytes = size_t{1} << 30;
constexpr size_t kBatchBytes = size_t{192} << 20;  // many times the last-level cache
constexpr uint32_t kStretch = 8;                   // matrices between two changes of the work
constexpr size_t kPage = 4096;

// Matrices with random codes, each its codes and then its scales, in one mapping and in random
// order.
class Weights {
 public:
  Weights(Format format, Shape shape, size_t min_bytes)
      : format_(format),
        shape_(shape),
        code_bytes_(*CodeBytes(format, shape.rows, shape.cols)),
        matrix_bytes_(code_bytes_ + *ScaleBytes(format, shape.rows, shape.cols)),
        stride_((matrix_bytes_ + kPage - 1) / kPage * kPage),
        order_((min_bytes + matrix_bytes_ - 1) / matrix_bytes_),
        bytes_(MapHuge(stride_ * order_.size())) {
    std::mt19937_64 random(1);
    std::iota(order_.begin(), order_.end(), 0U);
    std::shuffle(order_.begin(), order_.end(), random);
    // Random floats of moderate size for the formats whose codes are floats.
    const uint64_t mask =
        Info(format).arithmetic == Arithmetic::kFloat ? 0xbfbfbfbfbfbfbfbfU : ~uint64_t{0};
    for (size_t m = 0; m < order_.size(); ++m) {
      std::byte* matrix = bytes_.get() + m * stride_;
      for (size_t i = 0; i + 8 <= code_bytes_; i += 8) {
        const uint64_t word = random() & mask;
        std::memcpy(matrix + i, &word, 8);
      }
      FillScales(matrix + code_bytes_, matrix_bytes_ - code_bytes_);
    }
  }

  size_t count() const { return order_.size(); }
  size_t matrix_bytes() const { return matrix_bytes_; }
  Shape shape() const { return shape_; }
  // Of the matrix that comes i-th; after the last comes the first again.
  const std::byte* bytes(size_t i) const {
    return bytes_.get() + order_[i % order_.size()] * stride_;
  }
  WeightView view(size_t i) const {
    return {bytes(i), bytes(i) + code_bytes_, shape_.rows, shape_.cols, format_};
  }

 private:
  void FillScales(std::byte* scales, size_t bytes) const {
    if (Info(format_).scale_kind == ScaleKind::kF32) {
      std::fill_n(reinterpret_cast<float*>(scales), bytes / sizeof(float), 0.01F);
    } else {
      std::fill_n(scales, bytes, std::byte{120});
    }
  }

  Format format_;
  Shape shape_;
  size_t code_bytes_;
  size_t matrix_bytes_;
  size_t stride_;
  std::vector<size_t> order_;
  Mapping bytes_;
};

class Activations {
 public:
  Activations(const MatrixKernels& kernels, Format format, uint32_t cols, uint32_t tokens)
      : row_bytes_(kernels.prepared_bytes(format, cols)),
        tokens_(tokens),
        bytes_(MapHuge(row_bytes_ * tokens)) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    std::vector<float> x(cols);
    for (uint32_t t = 0; t < tokens; ++t) {
      for (float& value : x) {
        value = normal(random);
      }
      kernels.prepare(format, x.data(), cols, bytes_.get() + t * row_bytes_);
    }
  }
  PreparedRows rows() const { return {bytes_.get(), row_bytes_, tokens_}; }

 private:
  size_t row_bytes_;
  uint32_t tokens_;
  Mapping bytes_;
};

// Seconds that this thread has computed: other programs on the machine cost cache and bandwidth,
// but not time slices.
double Now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Seconds = std::array<double, 2>;

// One round over all matrices by `threads` threads: stretches of matrices get work 0 and, half the
// round away, work 1, in turn. work(kind, i, thread) does a thread's share of the i-th matrix. The
// seconds of each kind, of the thread that took longest.
template <class Work>
Seconds Round(size_t count, uint32_t threads, const Work& work) {
  std::barrier together(threads);
  std::vector<Seconds> seconds(threads, Seconds{});
  const auto run = [&](uint32_t thread) {
    for (size_t begin = 0; begin < count; begin += kStretch) {
      const size_t end = std::min(count, begin + kStretch);
      for (uint32_t kind = 0; kind < 2; ++kind) {
        together.arrive_and_wait();
        const double start = Now();
        for (size_t i = begin; i < end; ++i) {
          work(kind, i + kind * (count / 2), thread);
        }
        seconds[thread][kind] += Now() - start;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (uint32_t thread = 1; thread < threads; ++thread) {
      others.emplace_back(run, thread);
    }
    run(0);
  }
  Seconds longest{};
  for (const Seconds& of_thread : seconds) {
    longest = {std::max(longest[0], of_thread[0]), std::max(longest[1], of_thread[1])};
  }
  return longest;
}

// Repeats rounds; the best of each kind, in seconds per matrix.
template <class Work>
Seconds BestRounds(benchmark::State& state, size_t count, uint32_t threads, const Work& work) {
  Seconds best{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  for (auto _ : state) {
    const Seconds round = Round(count, threads, work);
    state.SetIterationTime(round[0]);
    best = {std::min(best[0], round[0]), std::min(best[1], round[1])};
  }
  return {best[0] / static_cast<double>(count), best[1] / static_cast<double>(count)};
}

// The share of the rows of `weights` that `thread` multiplies with x.
void MultiplyShare(const MatrixKernels& kernels, const WeightView& weights, const PreparedRows& x,
                   uint32_t thread, uint32_t threads, float* y) {
  kernels.multiply(weights, x, weights.rows * thread / threads,
                   weights.rows * (thread + 1) / threads, y, weights.rows);
  benchmark::DoNotOptimize(y);
}

struct Case {
  const KernelTable* table;
  Format format;
  Shape shape;
  uint32_t threads;
  uint32_t tokens;
  size_t bytes;
};

void MatVec(benchmark::State& state, const Case& c) {
  const MatrixKernels& kernels = c.table->For(c.format);
  const Weights weights(c.format, c.shape, c.bytes);
  const Activations x(kernels, c.format, c.shape.cols, 1);
  std::vector<float> y(c.shape.rows);
  const size_t share = weights.matrix_bytes() / c.threads;
  const auto [product, read] =
      BestRounds(state, weights.count(), c.threads, [&](uint32_t kind, size_t i, uint32_t thread) {
        if (kind == 0) {
          MultiplyShare(kernels, weights.view(i), x.rows(), thread, c.threads, y.data());
        } else {
          benchmark::DoNotOptimize(PlainRead(weights.bytes(i) + share * thread, share));
        }
      });
  const double gigabytes = static_cast<double>(weights.matrix_bytes()) * 1e-9;
  state.counters["GB/s"] = gigabytes / product;
  state.counters["read"] = gigabytes / read;
  state.counters["share"] = read / product;
}

void Batch(benchmark::State& state, const Case& c) {
  const MatrixKernels& kernels = c.table->For(c.format);
  const Weights weights(c.format, c.shape, c.bytes);
  const Activations x(kernels, c.format, c.shape.cols, c.tokens);
  const PreparedRows all = x.rows();
  const PreparedRows one{all.bytes, all.row_bytes, 1};
  std::vector<float> y(size_t{c.shape.rows} * c.tokens);
  const auto [batch, single] =
      BestRounds(state, weights.count(), c.threads, [&](uint32_t kind, size_t i, uint32_t thread) {
        MultiplyShare(kernels, weights.view(i), kind == 0 ? all : one, thread, c.threads, y.data());
      });
  state.counters["GMAC/s"] = 1e-9 * c.shape.rows * c.shape.cols * c.tokens / batch / c.threads;
  state.counters["gain"] = single * c.tokens / batch;
}

void Prepare(benchmark::State& state, const KernelTable& table, Format format) {
  const uint32_t cols = kShapes[0].cols;
  const MatrixKernels& kernels = table.For(format);
  const Mapping out = MapHuge(kernels.prepared_bytes(format, cols));
  const std::vector<float> x(cols, 0.7F);
  for (auto _ : state) {
    kernels.prepare(format, x.data(), cols, out.get());
    benchmark::DoNotOptimize(out.get());
  }
}

void RegisterProducts(const std::string& place, Case c) {
  const std::string name = place + "/" + std::to_string(c.shape.rows) + "x" +
                           std::to_string(c.shape.cols) + "/" + std::string(c.table->name);
  const bool scalar = c.table->isa == Isa::kScalar;
  for (const uint32_t threads : {1U, 2U}) {
    const std::string suffix = "/threads:" + std::to_string(threads);
    c.threads = threads;
    c.bytes = scalar ? 1 : kStreamBytes;
    benchmark::RegisterBenchmark(("matvec/" + name + suffix).c_str(), MatVec, c)->UseManualTime();
    c.bytes = scalar ? 1 : kBatchBytes;
    for (const uint32_t tokens : {2U, 4U, 8U, 16U, 32U, 64U}) {
      c.tokens = tokens;
      benchmark::RegisterBenchmark(
          ("batch/" + name + "/tokens:" + std::to_string(tokens) + suffix).c_str(), Batch, c)
          ->UseManualTime();
    }
  }
}

void RegisterAll() {
  const std::pair<const char*, Format> formats[] = {
      {"int4-row", {FormatId::kInt4Row}},
      {"int4-grouped-64", {FormatId::kInt4Grouped, 64}},
      {"int8-row", {FormatId::kInt8Row}},
      {"int2-row", {FormatId::kInt2Row}},
      {"int3-g64", {FormatId::kInt3G64}},
      {"mxfp4", {FormatId::kMxfp4}},
      {"fp8-e4m3-b128", {FormatId::kFp8E4m3B128}},
      {"bf16", {FormatId::kBf16}},
      {"f16", {FormatId::kF16}},
      {"f32", {FormatId::kF32}}};
  for (const KernelTable* table : AvailableKernels()) {
    for (const auto& [name, format] : formats) {
      for (const Shape shape : kShapes) {
        RegisterProducts(name, {table, format, shape, 1, 1, 0});
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
