#include "measure/weight_set.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "base/check.h"

namespace coli {

void FillWithCodes(std::span<std::byte> memory) {
  // Any byte may hold a float's sign and the highest bits of its exponent: the upper half of the
  // exponents below 2.
  constexpr uint64_t kCleared = 0x4040404040404040U;
  constexpr uint64_t kSet = 0x2020202020202020U;
  constexpr size_t kStockBytes = (size_t{1} << 20) + sizeof(uint64_t);  // no matrix repeats so
  std::mt19937_64 generator(1);
  const auto stock = memory.first(std::min(memory.size(), kStockBytes));
  for (size_t i = 0; i + sizeof(uint64_t) <= stock.size(); i += sizeof(uint64_t)) {
    const uint64_t word = (generator() & ~kCleared) | kSet;
    std::memcpy(stock.data() + i, &word, sizeof(word));
  }
  for (size_t i = stock.size(); i < memory.size(); i += stock.size()) {
    std::memcpy(memory.data() + i, stock.data(), std::min(stock.size(), memory.size() - i));
  }
}

// 0x3c3c3c3c is 0.0115 as f32; as the codes of floats that are read from the same memory next it is
// moderate in every format, too.
void FillScales(Format format, MatrixShape shape, std::byte* scales) {
  std::fill_n(scales, *ScaleBytes(format, shape.rows, shape.cols), std::byte{0x3c});
}

size_t WeightSet::Stride(Format format, MatrixShape shape) {
  constexpr size_t kPage = 4096;
  const size_t bytes =
      *CodeBytes(format, shape.rows, shape.cols) + *ScaleBytes(format, shape.rows, shape.cols);
  return (bytes + kPage - 1) / kPage * kPage;
}

WeightSet::WeightSet(std::span<std::byte> memory, Format format, MatrixShape shape,
                     size_t max_bytes)
    : memory_(memory),
      format_(format),
      shape_(shape),
      code_bytes_(*CodeBytes(format, shape.rows, shape.cols)),
      matrix_bytes_(code_bytes_ + *ScaleBytes(format, shape.rows, shape.cols)),
      stride_(Stride(format, shape)),
      order_(std::max<size_t>(std::min(memory.size(), max_bytes) / stride_, 1)) {
  COLI_CHECK(memory.size() >= stride_);
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::mt19937_64 generator(1);
  std::shuffle(order_.begin(), order_.end(), generator);
  for (size_t i = 0; i < count(); ++i) {
    FillScales(format, shape, memory.data() + i * stride_ + code_bytes_);
  }
}

Result<PreparedInput> PreparedInput::Create(const MatrixKernels& kernels, Format format,
                                            uint32_t cols, uint32_t tokens) {
  const size_t row_bytes = kernels.prepared_bytes(format, cols);
  COLI_ASSIGN_OR_RETURN(AlignedBuffer bytes, AlignedBuffer::Allocate(row_bytes * tokens));
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  std::vector<float> x(cols);
  for (uint32_t t = 0; t < tokens; ++t) {
    std::ranges::generate(x, [&] { return normal(generator); });
    kernels.prepare(format, x.data(), cols, bytes.data() + t * row_bytes);
  }
  return PreparedInput(std::move(bytes), row_bytes);
}

}  // namespace coli
