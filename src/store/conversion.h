// Matrices that are held in another number format, or another order, than the file has them in.
//
// Every row is decoded to f32 and quantised by the scalar functions of its two formats
// (tensor/quantize.h), so the bytes depend on nothing else. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "store/container.h"
#include "store/expert_layout.h"
#include "sys/thread_pool.h"
#include "tensor/tensor_view.h"

namespace coli {

// Lets `matrix` be held in `format`; one that is stored in it stays as it is. Error:
// kInvalidArgument unless it is stored in f32, bf16, f16 or fp8: a second rounding would only add
// to the first.
Status ConvertTo(Format format, StoredMatrix& matrix);

// Bytes of a matrix as it is held: codes, then scales at the next multiple of kMatrixAlignment; of
// an expert, all three.
uint64_t HeldBytes(const StoredMatrix& matrix);
uint64_t HeldBytes(const ExpertRecord& expert);

// Memory that each thread takes while it converts the matrix; 0 if it stays as it is.
uint64_t ConversionBytes(const StoredMatrix& matrix);

// Reads and converts a part of the rows at a time, so that little memory is needed beside
// `destination` (64-byte aligned, HeldBytes(matrix)). The matrix is not transposed. `progress` is
// called with the bytes of codes written so far. Errors: those of Container::Read; kNumeric naming
// tensor, row and column of a number that the format cannot hold.
Result<WeightView> ReadConverted(const StoredMatrix& matrix, std::span<std::byte> destination,
                                 ThreadPool& pool, const std::function<void(uint64_t)>& progress);

// Converts an expert whose stored bytes are in memory: `stored` views them, scales checked.
// `destination` is as above. Matrices that do not convert are copied. Errors as ReadConverted.
Result<FfnView> ConvertExpert(const ExpertRecord& expert, const FfnView& stored,
                              std::span<std::byte> destination, ThreadPool& pool);

}  // namespace coli
