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
        const uint64_t one_row = Backend::ScratchBytes(1, cols) / 3;  // one of three formats
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

// Products of several formats at once, over rows cut anywhere by any number of threads, are the
// same as one product after the other by one thread.
TEST(Backend, ProductsOfOneInputDoNotDependOnTheirCompanyOrOnThreads) {
  const KernelTable& kernels = **SelectKernels("auto");
  const Matrix a = Encoded({FormatId::kInt8Row}, 70, 96, 0.5F);
  const Matrix b = Encoded({FormatId::kInt4Grouped, 32}, 45, 96, -0.25F);
  const Matrix c = Encoded({FormatId::kF32}, 3, 96, 0.0F);
  std::vector<float> x(5 * 96);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 17) * 0.1F - 0.8F;
  }
  const ConstMatrixView input{x.data(), 5, 96, 96};
  const auto run = [&](size_t threads, bool together) {
    ThreadPool pool(threads);
    Backend backend(kernels, pool);
    EXPECT_TRUE(backend.Reserve(5, 96).has_value());
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

  const std::vector<float> expected = run(1, false);

  EXPECT_EQ(run(1, true), expected);
  EXPECT_EQ(run(3, true), expected);
  EXPECT_EQ(run(4, false), expected);
}

}  // namespace
}  // namespace coli
