#include "measure/product_bench.h"

#include <utility>

#include "sys/plain_read.h"

namespace coli {

Result<ProductBench> ProductBench::Create(const Case& c, std::span<std::byte> memory) {
  if (memory.size() < WeightSet::Stride(c.format, c.shape)) {
    return Fail(ErrorCode::kNotEnoughMemory,
                "a matrix to measure with: expected {} bytes, found {}",
                WeightSet::Stride(c.format, c.shape), memory.size());
  }
  COLI_ASSIGN_OR_RETURN(PreparedInput input, PreparedInput::Create(c.table->For(c.format), c.format,
                                                                   c.shape.cols, c.tokens));
  COLI_ASSIGN_OR_RETURN(PairedRounds rounds, PairedRounds::Create(c.threads));
  return ProductBench(c, std::move(rounds), WeightSet(memory, c.format, c.shape, c.max_bytes),
                      std::move(input));
}

ProductBench::ProductBench(const Case& c, PairedRounds rounds, WeightSet weights,
                           PreparedInput input)
    : case_(c),
      rounds_(std::move(rounds)),
      weights_(std::move(weights)),
      input_(std::move(input)),
      y_(size_t{c.shape.rows} * c.tokens) {}

ProductBench::Seconds ProductBench::OneRow() {
  const auto [alone, read] =
      rounds_.Round<2>(weights_.count(), [&](size_t kind, size_t piece, uint32_t thread) {
        if (kind == 0) {
          Multiply(piece, 1, thread);
        } else {
          Read(piece, thread);
        }
      });
  return {.together = 0, .alone = alone, .read = read};
}

ProductBench::Seconds ProductBench::AllRows() {
  const auto [together, alone, read] =
      rounds_.Round<3>(weights_.count(), [&](size_t kind, size_t piece, uint32_t thread) {
        if (kind == 2) {
          Read(piece, thread);
        } else {
          Multiply(piece, kind == 0 ? case_.tokens : 1, thread);
        }
      });
  return {.together = together, .alone = alone, .read = read};
}

// A thread's share of the rows of a matrix.
void ProductBench::Multiply(size_t piece, uint32_t tokens, uint32_t thread) {
  const WeightView w = weights_.view(piece);
  case_.table->For(case_.format)
      .multiply(w, input_.rows(tokens), w.rows * thread / case_.threads,
                w.rows * (thread + 1) / case_.threads, y_.data(), w.rows);
}

void ProductBench::Read(size_t piece, uint32_t thread) const {
  const size_t share = weights_.matrix_bytes() / case_.threads;
  Keep(PlainRead(weights_.bytes(piece) + share * thread, share));
}

}  // namespace coli
