#include "measure/expert_bench.h"

#include <algorithm>
#include <random>
#include <utility>

#include "measure/stopwatch.h"
#include "measure/weight_set.h"
#include "sys/plain_read.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr MatrixShape kUp{ExpertBench::kInner, ExpertBench::kHidden};
constexpr MatrixShape kDown{ExpertBench::kHidden, ExpertBench::kInner};

// A matrix at `at`, which moves behind it.
WeightView Place(MatrixShape shape, std::byte*& at) {
  std::byte* const codes = at;
  std::byte* const scales = codes + *CodeBytes(ExpertBench::kFormat, shape.rows, shape.cols);
  FillScales(ExpertBench::kFormat, shape, scales);
  at = scales + *ScaleBytes(ExpertBench::kFormat, shape.rows, shape.cols);
  return {codes, scales, shape.rows, shape.cols, ExpertBench::kFormat};
}

size_t MatrixBytes(MatrixShape shape) {
  return *CodeBytes(ExpertBench::kFormat, shape.rows, shape.cols) +
         *ScaleBytes(ExpertBench::kFormat, shape.rows, shape.cols);
}

}  // namespace

size_t ExpertBench::expert_bytes() { return 2 * MatrixBytes(kUp) + MatrixBytes(kDown); }

Result<ExpertBench> ExpertBench::Create(const KernelTable& kernels, ThreadPool& pool,
                                        std::span<std::byte> memory, uint32_t max_rows) {
  if (memory.size() < layer_bytes()) {
    return Fail(ErrorCode::kNotEnoughMemory, "a layer's experts: expected {} bytes, found {}",
                layer_bytes(), memory.size());
  }
  ExpertBench bench(kernels, pool, memory);
  COLI_RETURN_IF_ERROR(bench.Prepare(max_rows));
  return bench;
}

ExpertBench::ExpertBench(const KernelTable& kernels, ThreadPool& pool, std::span<std::byte> memory)
    : kernels_(&kernels.For(kFormat)),
      pool_(&pool),
      memory_(memory),
      backend_(std::make_unique<Backend>(kernels, pool)) {
  PlaceExperts();
}

// In random order within each layer, so that none is read along with its neighbour.
void ExpertBench::PlaceExperts() {
  std::mt19937_64 generator(1);
  const size_t layers = memory_.size() / layer_bytes();
  for (size_t layer = 0; layer < layers; ++layer) {
    std::byte* at = memory_.data() + layer * layer_bytes();
    for (uint32_t e = 0; e < kExperts; ++e) {
      const WeightView gate = Place(kUp, at);
      const WeightView up = Place(kUp, at);
      const WeightView down = Place(kDown, at);
      views_.push_back({gate, up, down});
    }
    std::shuffle(views_.end() - kExperts, views_.end(), generator);
  }
}

Status ExpertBench::Prepare(uint32_t max_rows) {
  constexpr uint32_t kPassRows = 64;
  COLI_RETURN_IF_ERROR(backend_->Reserve({kPassRows, kHidden, kInner}));
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  x_.resize(size_t{max_rows} * kHidden);
  y_.resize(size_t{max_rows} * kExperts * kHidden);
  std::ranges::generate(x_, [&] { return normal(generator); });
  for (uint32_t r = 0; r < max_rows; ++r) {
    inputs_.push_back(x_.data() + size_t{r} * kHidden);
  }
  for (const auto& [cols, prepared] :
       {std::pair{kHidden, &prepared_hidden_}, std::pair{kInner, &prepared_inner_}}) {
    const size_t row_bytes = kernels_->prepared_bytes(kFormat, cols);
    COLI_ASSIGN_OR_RETURN(*prepared, AlignedBuffer::Allocate(row_bytes * max_rows));
    for (uint32_t r = 0; r < max_rows; ++r) {
      kernels_->prepare(kFormat, inputs_[r], cols, prepared->data() + r * row_bytes);
    }
  }
  return Ok();
}

std::vector<FfnTask> ExpertBench::Tasks(size_t layer, uint32_t rows) {
  std::vector<FfnTask> tasks;
  for (uint32_t e = 0; e < kExperts; ++e) {
    const MatrixView out{y_.data() + size_t{e} * rows * kHidden, rows, kHidden, kHidden};
    tasks.push_back(
        {&views_[layer % layers() * kExperts + e], std::span(inputs_).first(rows), out});
  }
  return tasks;
}

double ExpertBench::Together(size_t layer, uint32_t rows) {
  const std::vector<FfnTask> tasks = Tasks(layer, rows);
  const double begin = WallSeconds();
  backend_->Ffn(tasks);
  return WallSeconds() - begin;
}

double ExpertBench::OneByOne(size_t layer, uint32_t rows) {
  const std::vector<FfnTask> tasks = Tasks(layer, rows);
  const double begin = WallSeconds();
  for (const FfnTask& task : tasks) {
    backend_->Ffn(std::span(&task, 1));
  }
  return WallSeconds() - begin;
}

double ExpertBench::Products(size_t layer, uint32_t rows) {
  const std::vector<FfnTask> tasks = Tasks(layer, rows);
  const double begin = WallSeconds();
  for (const FfnTask& task : tasks) {
    Multiply(task.w->gate, prepared_hidden_, task.y);
    Multiply(task.w->up, prepared_hidden_, task.y);
    Multiply(task.w->down, prepared_inner_, task.y);
  }
  return WallSeconds() - begin;
}

void ExpertBench::Multiply(const WeightView& w, const AlignedBuffer& input, MatrixView y) {
  constexpr size_t kGrain = 128;
  const PreparedRows x{input.data(), kernels_->prepared_bytes(kFormat, w.cols), y.rows};
  pool_->ParallelFor(w.rows, kGrain, [&](size_t begin, size_t end, size_t) {
    kernels_->multiply(w, x, static_cast<uint32_t>(begin), static_cast<uint32_t>(end), y.data,
                       y.stride);
  });
}

double ExpertBench::Read(size_t layer) {
  return PoolReadSeconds(*pool_, memory_.subspan(layer % layers() * layer_bytes(), layer_bytes()));
}

}  // namespace coli
