#include "backend/backend.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/dispatch.h"
#include "tensor/format.h"
#include "tensor/quantize.h"
#include "tensor/testing/geometries.h"

namespace coli {
namespace {

TEST(Backend, ScratchHoldsAPreparedRowOfEveryFormatOnEveryInstructionSet) {
  for (const KernelTable* kernels : AvailableKernels()) {
    for (const Format format : testing::AllGeometries()) {
      for (const uint32_t cols : {1U, 64U, 1000U, 6144U, 16384U, 100001U}) {
        const uint64_t one_row = Backend::PreparedBound(cols);
        EXPECT_LE(kernels->For(format).prepared_bytes(format, cols), one_row)
            << kernels->name << ", " << Info(format).name << " " << format.group << ", " << cols;
      }
    }
  }
}

struct Matrix {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  WeightView view;
};

Matrix Encoded(Format format, uint32_t rows, uint32_t cols, float seed) {
  Matrix m;
  m.codes.resize(*CodeBytes(format, rows, cols));
  m.scales.resize(*ScaleBytes(format, rows, cols));
  std::vector<float> values(size_t{rows} * cols);
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < cols; ++c) {
      values[size_t{r} * cols + c] = static_cast<float>((r * 31 + c * 7) % 23) - 11.0F + seed;
    }
  }
  const QuantizedMatrix out{m.codes.data(), m.scales.data(), rows, cols, format};
  EXPECT_TRUE(QuantizeRows({values.data(), rows, cols, cols}, 0, out));
  m.view = out.view();
  return m;
}

std::vector<float> Input(size_t values) {
  std::vector<float> x(values);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 17) * 0.1F - 0.8F;
  }
  return x;
}

// Products of several formats at once, over rows cut anywhere by any number of threads and passes,
// are the same as one product after the other by one thread.
TEST(Backend, ProductsOfOneInputDoNotDependOnTheirCompanyOrOnThreads) {
  const KernelTable& kernels = **SelectKernels("auto");
  const Matrix a = Encoded({FormatId::kInt8Row}, 70, 96, 0.5F);
  const Matrix b = Encoded({FormatId::kInt4Grouped, 32}, 45, 96, -0.25F);
  const Matrix c = Encoded({FormatId::kF32}, 3, 96, 0.0F);
  const std::vector<float> x = Input(5 * 96);
  const ConstMatrixView input{x.data(), 5, 96, 96};
  const auto run = [&](size_t threads, bool together, uint32_t pass_rows) {
    ThreadPool pool(threads);
    Backend backend(kernels, pool);
    EXPECT_TRUE(backend.Reserve({pass_rows, 96, 0}).has_value());
    std::vector<float> y(5 * (70 + 45 + 3));
    const MatrixView out{y.data(), 5, 118, 118};
    const std::vector<Product> products{
        {a.view, out.Cols(0, 70)}, {b.view, out.Cols(70, 45)}, {c.view, out.Cols(115, 3)}};
    if (together) {
      backend.MatMul(input, products);
    } else {
      for (const Product& product : products) {
        backend.MatMul(input, product.w, product.y);
      }
    }
    return y;
  };

  const std::vector<float> expected = run(1, false, 5);

  EXPECT_EQ(run(1, true, 5), expected);
  EXPECT_EQ(run(3, true, 2), expected);
  EXPECT_EQ(run(4, false, 1), expected);
}

// The textbook form, one row and one step at a time.
void SlowFfn(Backend& backend, const FfnView& w, const float* x, float* y) {
  std::vector<float> gate(w.gate.rows);
  std::vector<float> up(w.up.rows);
  const auto vector = [](std::vector<float>& v) {
    return MatrixView{v.data(), 1, static_cast<uint32_t>(v.size()), v.size()};
  };
  const ConstMatrixView in{x, 1, w.gate.cols, w.gate.cols};
  backend.MatMul(in, w.gate, vector(gate));
  backend.MatMul(in, w.up, vector(up));
  backend.vector().silu_mul(gate.data(), up.data(), gate.data(), gate.size());
  backend.MatMul(vector(gate), w.down, {y, 1, w.down.rows, w.down.rows});
}

void ExpectSlow(Backend& backend, std::span<const FfnTask> tasks) {
  for (const FfnTask& task : tasks) {
    for (size_t r = 0; r < task.x.size(); ++r) {
      std::vector<float> expected(task.y.cols);
      SlowFfn(backend, *task.w, task.x[r], expected.data());
      EXPECT_EQ(std::vector<float>(task.y.row(r), task.y.row(r) + task.y.cols), expected);
    }
  }
}

// Networks of different widths and formats, with one row, many and none, that share inputs.
TEST(Backend, NetworksComputedTogetherAreThoseComputedRowByRow) {
  const KernelTable& kernels = **SelectKernels("auto");
  constexpr uint32_t kHidden = 96;
  const Format int4{FormatId::kInt4Row};
  const Format int8{FormatId::kInt8Row};
  const Format grouped{FormatId::kInt4Grouped, 32};
  const Matrix wide_gate = Encoded(int4, 160, kHidden, 0.5F);
  const Matrix wide_up = Encoded(int4, 160, kHidden, -0.25F);
  const Matrix wide_down = Encoded(int8, kHidden, 160, 0.75F);
  const Matrix gate = Encoded(int8, 33, kHidden, 0.125F);
  const Matrix up = Encoded(grouped, 33, kHidden, -0.5F);
  const Matrix down = Encoded({FormatId::kF32}, kHidden, 33, 0.0F);
  const FfnView wide{wide_gate.view, wide_up.view, wide_down.view};
  const FfnView narrow{gate.view, up.view, down.view};
  const std::vector<float> x = Input(7 * kHidden);
  std::vector<std::vector<const float*>> inputs(4);
  for (const auto& [task, row] : std::vector<std::pair<size_t, size_t>>{
           {0, 3}, {1, 0}, {1, 1}, {1, 3}, {1, 4}, {1, 6}, {3, 5}, {3, 2}}) {
    inputs[task].push_back(x.data() + row * kHidden);
  }
  const FfnView* const networks[] = {&wide, &narrow, &wide, &wide};  // the third without rows
  for (const size_t threads : {1U, 2U, 4U}) {
    for (const uint32_t pass_rows : {1U, 3U, 8U, 64U}) {
      ThreadPool pool(threads);
      Backend backend(kernels, pool);
      ASSERT_TRUE(backend.Reserve({pass_rows, 160, 160}).has_value());
      std::vector<float> y(8 * kHidden);
      std::vector<FfnTask> tasks;
      for (uint32_t t = 0, row = 0; t < 4; row += static_cast<uint32_t>(inputs[t].size()), ++t) {
        const auto rows = static_cast<uint32_t>(inputs[t].size());
        tasks.push_back(
            {networks[t], inputs[t], MatrixView{y.data(), 8, kHidden, kHidden}.Rows(row, rows)});
      }

      // In halves: whole tasks and gate and up of the others together, then what is left of these.
      std::vector<float> inner(8 * 160);
      for (size_t halves = 0; halves <= tasks.size(); ++halves) {
        std::ranges::fill(y, 0.0F);
        std::vector<FfnTask> first = tasks;
        uint32_t row = 0;
        for (size_t t = 0; t < halves; ++t) {
          const uint32_t cols = first[t].w->gate.rows;
          first[t].stage = FfnStage::kGateUp;
          first[t].inner = {inner.data() + size_t{row} * 160, first[t].y.rows, cols, cols};
          row += first[t].y.rows;
        }
        backend.Ffn(first);
        std::vector<FfnTask> second(first.begin(),
                                    first.begin() + static_cast<std::ptrdiff_t>(halves));
        for (FfnTask& task : second) {
          task.stage = FfnStage::kDown;
        }
        backend.Ffn(second);
        ExpectSlow(backend, tasks);
      }
      backend.Ffn(tasks);
      ExpectSlow(backend, tasks);
    }
  }
}

}  // namespace
}  // namespace coli
