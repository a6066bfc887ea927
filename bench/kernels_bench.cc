// Speed of the matrix products, beside the speed of plainly reading the same bytes in the same
// minute.
//
//   kernels_bench                                     everything
//   kernels_bench --benchmark_filter='matvec/int4'    some
//
// matvec: one activation row times 48 matrices of 2048 x 6144 in turn, so that the weights come
//   from RAM. Counters: GB/s of weights (codes and scales), `read` GB/s of the plain read, `share`
//   of the former in the latter.
// batch: sixteen rows times the same matrices; counter: G multiply-adds per second.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr uint32_t kRows = 2048;
constexpr uint32_t kCols = 6144;
constexpr uint32_t kMatrices = 48;
constexpr uint32_t kScalarMatrices = 2;
constexpr uint32_t kBatch = 16;
constexpr size_t kHugePage = size_t{2} << 20;

struct Unmap {
  size_t bytes = 0;
  void operator()(std::byte* p) const { ::munmap(p, bytes); }
};
using Mapping = std::unique_ptr<std::byte[], Unmap>;

Mapping MapHuge(size_t bytes) {
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    throw std::bad_alloc();
  }
  ::madvise(p, bytes, MADV_HUGEPAGE);
  return Mapping(static_cast<std::byte*>(p), Unmap{bytes});
}

// Matrices with random codes, each its codes and then its scales, in one mapping.
class Weights {
 public:
  Weights(Format format, uint32_t count)
      : format_(format),
        count_(count),
        code_bytes_(*CodeBytes(format, kRows, kCols)),
        matrix_bytes_(code_bytes_ + *ScaleBytes(format, kRows, kCols)),
        bytes_(MapHuge(matrix_bytes_ * count)) {
    std::mt19937_64 random(1);
    for (size_t i = 0; i + 8 <= matrix_bytes_ * count; i += 8) {
      // Random floats of moderate size for the formats whose codes are floats.
      const uint64_t word =
          random() &
          (Info(format).arithmetic == Arithmetic::kFloat ? 0xbfbfbfbfbfbfbfbfU : ~uint64_t{0});
      std::memcpy(bytes_.get() + i, &word, 8);
    }
    for (uint32_t m = 0; m < count; ++m) {
      FillScales(bytes_.get() + m * matrix_bytes_ + code_bytes_, matrix_bytes_ - code_bytes_);
    }
  }

  WeightView view(uint32_t m) const {
    const std::byte* codes = bytes_.get() + m * matrix_bytes_;
    return {codes, codes + code_bytes_, kRows, kCols, format_};
  }
  uint32_t count() const { return count_; }
  size_t matrix_bytes() const { return matrix_bytes_; }
  const std::byte* bytes(uint32_t m) const { return bytes_.get() + m * matrix_bytes_; }

 private:
  void FillScales(std::byte* scales, size_t bytes) const {
    if (Info(format_).scale_kind == ScaleKind::kF32) {
      std::fill_n(reinterpret_cast<float*>(scales), bytes / sizeof(float), 0.01F);
    } else {
      std::fill_n(scales, bytes, std::byte{120});
    }
  }

  Format format_;
  uint32_t count_;
  size_t code_bytes_;
  size_t matrix_bytes_;
  Mapping bytes_;
};

class Activations {
 public:
  Activations(const MatrixKernels& kernels, Format format, uint32_t tokens)
      : row_bytes_(kernels.prepared_bytes(format, kCols)),
        tokens_(tokens),
        bytes_(MapHuge(row_bytes_ * tokens)) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    std::vector<float> x(kCols);
    for (uint32_t t = 0; t < tokens; ++t) {
      for (float& value : x) {
        value = normal(random);
      }
      kernels.prepare(format, x.data(), kCols, bytes_.get() + t * row_bytes_);
    }
  }
  PreparedRows rows() const { return {bytes_.get(), row_bytes_, tokens_}; }

 private:
  size_t row_bytes_;
  uint32_t tokens_;
  Mapping bytes_;
};

#if defined(__x86_64__)
__attribute__((target("avx2"))) uint64_t PlainRead(const std::byte* p, size_t bytes) {
  __m256i sum[8] = {};
  for (size_t i = 0; i + 256 <= bytes; i += 256) {
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      sum[k] = _mm256_add_epi64(
          sum[k], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i + 32 * k)));
    }
  }
  for (size_t k = 1; k < 8; ++k) {
    sum[0] = _mm256_add_epi64(sum[0], sum[k]);
  }
  return static_cast<uint64_t>(_mm256_extract_epi64(sum[0], 0));
}
#else
uint64_t PlainRead(const std::byte* p, size_t bytes) {
  uint64_t sum[4] = {};
  for (size_t i = 0; i + 32 <= bytes; i += 32) {
    for (size_t k = 0; k < 4; ++k) {
      uint64_t word = 0;
      std::memcpy(&word, p + i + 8 * k, 8);
      sum[k] += word;
    }
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}
#endif

// Seconds that this thread has computed: other programs on the machine cost cache and bandwidth,
// but not time slices.
double Now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The matrices are read plainly between the products, half the round apart, so that both see the
// same neighbours.
void MatVec(benchmark::State& state, const KernelTable& table, Format format, uint32_t matrices) {
  const MatrixKernels& kernels = table.For(format);
  const Weights weights(format, matrices);
  const Activations x(kernels, format, 1);
  std::vector<float> y(kRows);
  double product_seconds = 0;
  double read_seconds = 0;
  double products = 0;
  uint32_t m = 0;
  for (auto _ : state) {
    const double begin = Now();
    kernels.multiply(weights.view(m), x.rows(), 0, kRows, y.data(), kRows);
    benchmark::DoNotOptimize(y.data());
    const double middle = Now();
    benchmark::DoNotOptimize(
        PlainRead(weights.bytes((m + matrices / 2) % matrices), weights.matrix_bytes()));
    const double end = Now();
    state.SetIterationTime(middle - begin);
    product_seconds += middle - begin;
    read_seconds += end - middle;
    products += 1;
    m = (m + 1) % matrices;
  }
  const double gigabytes = products * static_cast<double>(weights.matrix_bytes()) * 1e-9;
  state.counters["GB/s"] = gigabytes / product_seconds;
  state.counters["read"] = gigabytes / read_seconds;
  state.counters["share"] = read_seconds / product_seconds;
}

void Batch(benchmark::State& state, const KernelTable& table, Format format, uint32_t tokens,
           uint32_t matrices) {
  const MatrixKernels& kernels = table.For(format);
  const Weights weights(format, matrices);
  const Activations x(kernels, format, tokens);
  std::vector<float> y(size_t{kRows} * tokens);
  uint32_t m = 0;
  for (auto _ : state) {
    kernels.multiply(weights.view(m), x.rows(), 0, kRows, y.data(), kRows);
    benchmark::DoNotOptimize(y.data());
    m = (m + 1) % matrices;
  }
  state.counters["GMAC/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kRows * kCols * tokens * 1e-9,
                         benchmark::Counter::kIsRate);
}

void Prepare(benchmark::State& state, const KernelTable& table, Format format) {
  const MatrixKernels& kernels = table.For(format);
  const Mapping out = MapHuge(kernels.prepared_bytes(format, kCols));
  const std::vector<float> x(kCols, 0.7F);
  for (auto _ : state) {
    kernels.prepare(format, x.data(), kCols, out.get());
    benchmark::DoNotOptimize(out.get());
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
    const bool scalar = table->isa == Isa::kScalar;
    const uint32_t matrices = scalar ? kScalarMatrices : kMatrices;
    for (const auto& [name, format] : formats) {
      const std::string place = std::string("/") + name + "/" + std::string(table->name);
      benchmark::RegisterBenchmark(("matvec" + place).c_str(), MatVec, *table, format, matrices)
          ->UseManualTime();
      for (const uint32_t tokens : {2U, 4U, kBatch}) {
        if (tokens == kBatch || !scalar) {
          benchmark::RegisterBenchmark(("batch" + std::to_string(tokens) + place).c_str(), Batch,
                                       *table, format, tokens, matrices);
        }
      }
      benchmark::RegisterBenchmark(("prepare" + place).c_str(), Prepare, *table, format);
    }
  }
}

}  // namespace
}  // namespace coli

int main(int argc, char** argv) {
  coli::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
