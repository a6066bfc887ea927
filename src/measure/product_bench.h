// Products of rows with weights that come from memory, beside what they are compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/kernel_table.h"
#include "measure/paired_round.h"
#include "measure/weight_set.h"

namespace coli {

class ProductBench {
 public:
  struct Case {
    const KernelTable* table;
    Format format;
    MatrixShape shape;
    uint32_t threads;
    uint32_t tokens;   // rows that are multiplied together
    size_t max_bytes;  // of weights
  };
  // `memory` has been filled by FillWithCodes and must outlive this. Errors: kNotEnoughMemory, and
  // those of PairedRounds.
  static Result<ProductBench> Create(const Case& c, std::span<std::byte> memory);

  // Seconds per matrix of one round over all of them.
  struct Seconds {
    double together = 0;  // all rows at once
    double alone = 0;     // one row
    double read = 0;      // plainly reading the matrix
  };
  // One row beside the plain read; `together` stays 0.
  Seconds OneRow();
  // All rows beside one row and the plain read.
  Seconds AllRows();

  size_t matrices() const { return weights_.count(); }  // of a round
  size_t matrix_bytes() const { return weights_.matrix_bytes(); }
  // Multiply-adds of one row with one matrix.
  double products() const { return double{1} * case_.shape.rows * case_.shape.cols; }

 private:
  ProductBench(const Case& c, PairedRounds rounds, WeightSet weights, PreparedInput input);
  void Multiply(size_t piece, uint32_t tokens, uint32_t thread);
  void Read(size_t piece, uint32_t thread) const;

  Case case_;
  PairedRounds rounds_;
  WeightSet weights_;
  PreparedInput input_;
  std::vector<float> y_;
};

}  // namespace coli
