#include "store/conversion.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "store/finite.h"
#include "sys/aligned_buffer.h"
#include "tensor/format.h"
#include "tensor/format_name.h"
#include "tensor/quantize.h"

namespace coli {
namespace {

constexpr uint32_t kMinBlockRows = 16;
constexpr uint64_t kPartBytes = uint64_t{16} << 20;  // of codes that are read at once
// Parts begin at multiples of this, so that no rows with common scales come apart.
constexpr uint32_t kPartRows = 128;

// Rows that a thread converts at once.
uint32_t BlockRows(Format format) { return std::max(kMinBlockRows, Info(format).scale_rows); }

// Whether weights are trained or published in this format, so that nothing was lost yet.
bool IsSource(Format format) {
  return Info(format).scale_kind == ScaleKind::kNone || format.id == FormatId::kFp8E4m3B128;
}

QuantizedMatrix Held(const StoredMatrix& matrix, std::span<std::byte> destination) {
  COLI_CHECK(destination.size() >= HeldBytes(matrix));
  const uint64_t code_bytes = CodeBytes(matrix.held(), matrix.rows, matrix.cols).value();
  std::byte* const scales = Info(matrix.held()).scale_kind == ScaleKind::kNone
                                ? nullptr
                                : destination.data() + AlignUp(code_bytes, kMatrixAlignment);
  return {destination.data(), scales, matrix.rows, matrix.cols, matrix.held()};
}

Status ReadFrom(const StoredMatrix& matrix, const Extent& extent, uint64_t begin,
                std::span<std::byte> destination) {
  auto status =
      destination.empty() ? Ok() : extent.file->ReadExact(extent.offset + begin, destination);
  return status ? Ok() : Wrap(std::move(status).error(), fmt::format("tensor {}", matrix.name));
}

// Row `row` of `stored` as f32, whatever the order of its elements.
void DecodeRow(const StoredMatrix& matrix, const WeightView& stored, uint32_t row, float* out) {
  if (matrix.column_stride == 0) {
    return DecodeRow(stored, row, out);
  }
  const FormatInfo& info = Info(stored.format);
  const uint64_t element_bytes = info.row_bytes(1);
  const std::byte* element = stored.codes + row * element_bytes;
  for (uint32_t c = 0; c < matrix.cols; ++c) {
    info.decode_row(element, nullptr, 1, 0, out + c);
    element += matrix.column_stride * element_bytes;
  }
}

// Converts the rows of `stored`, which are those of the matrix from `first_row` on, in all threads.
Status ConvertRows(const StoredMatrix& matrix, const WeightView& stored, uint32_t first_row,
                   const QuantizedMatrix& held, ThreadPool& pool) {
  const uint32_t block_rows = BlockRows(held.format);
  const size_t block_floats = size_t{block_rows} * matrix.cols;
  COLI_ASSIGN_OR_RETURN(const AlignedBuffer scratch,
                        AlignedBuffer::Allocate(pool.threads() * ConversionBytes(matrix)));
  auto* const floats_of_all = reinterpret_cast<float*>(scratch.data());
  const auto convert = [&](size_t block, float* floats) {
    const auto begin = static_cast<uint32_t>(block * block_rows);
    const uint32_t count = std::min(block_rows, stored.rows - begin);
    for (uint32_t r = 0; r < count; ++r) {
      DecodeRow(matrix, stored, begin + r, floats + size_t{r} * matrix.cols);
    }
    return QuantizeRows({floats, count, matrix.cols, matrix.cols}, first_row + begin, held);
  };

  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::atomic<size_t> first_failed = kNone;
  pool.ParallelFor(CeilDiv(stored.rows, block_rows), 1, [&](size_t block, size_t, size_t worker) {
    if (!convert(block, floats_of_all + worker * block_floats)) {
      size_t least = first_failed;
      while (block < least && !first_failed.compare_exchange_weak(least, block)) {
      }
    }
  });
  if (first_failed == kNone) {
    return Ok();
  }
  return Wrap(convert(first_failed, floats_of_all).error(), Place(matrix));
}

}  // namespace

Status ConvertTo(Format format, StoredMatrix& matrix) {
  if (matrix.format == format) {
    return Ok();
  }
  if (!IsSource(matrix.format)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "{}: expected f32, bf16, f16 or fp8 to convert to {}, found {}: what is quantised is "
        "not quantised again",
        Place(matrix), FormatName(format), FormatName(matrix.format));
  }
  matrix.convert_to = format;
  return Ok();
}

uint64_t HeldBytes(const StoredMatrix& matrix) {
  if (!matrix.converts()) {
    return Container::PackedBytes(matrix);
  }
  // The bounds of a config's sizes keep these products below 2^63.
  return AlignUp(CodeBytes(matrix.held(), matrix.rows, matrix.cols).value(), kMatrixAlignment) +
         ScaleBytes(matrix.held(), matrix.rows, matrix.cols).value();
}

uint64_t ConversionBytes(const StoredMatrix& matrix) {
  return matrix.converts() ? uint64_t{BlockRows(matrix.held())} * matrix.cols * sizeof(float) : 0;
}

uint64_t HeldBytes(const ExpertRecord& expert) {
  uint64_t bytes = 0;
  for (const StoredMatrix* matrix : {&expert.gate, &expert.up, &expert.down}) {
    bytes += AlignUp(HeldBytes(*matrix), kMatrixAlignment);
  }
  return bytes;
}

Result<WeightView> ReadConverted(const StoredMatrix& matrix, std::span<std::byte> destination,
                                 ThreadPool& pool, const std::function<void(uint64_t)>& progress) {
  COLI_CHECK(matrix.column_stride == 0);
  const QuantizedMatrix held = Held(matrix, destination);
  const uint64_t row_bytes = Info(matrix.format).row_bytes(matrix.cols);
  const auto part_rows = static_cast<uint32_t>(
      std::min<uint64_t>(AlignUp(CeilDiv(kPartBytes, row_bytes), kPartRows), matrix.rows));
  COLI_ASSIGN_OR_RETURN(const AlignedBuffer codes, AlignedBuffer::Allocate(part_rows * row_bytes));
  COLI_ASSIGN_OR_RETURN(const AlignedBuffer scales, AlignedBuffer::Allocate(matrix.scales.bytes));
  COLI_RETURN_IF_ERROR(ReadFrom(matrix, matrix.scales, 0, scales.bytes()));
  WeightView stored{codes.data(), scales.data(), matrix.rows, matrix.cols, matrix.format};
  COLI_RETURN_IF_ERROR(CheckScales(stored, [&] { return Place(matrix); }));
  for (uint32_t begin = 0; begin < matrix.rows; begin += stored.rows) {
    stored.rows = std::min(part_rows, matrix.rows - begin);
    stored.scales = scales.data() + begin / Info(matrix.format).scale_rows *
                                        RowScaleBytes(matrix.format, matrix.cols);
    COLI_RETURN_IF_ERROR(ReadFrom(matrix, matrix.codes, begin * row_bytes,
                                  codes.bytes().first(stored.rows * row_bytes)));
    COLI_RETURN_IF_ERROR(ConvertRows(matrix, stored, begin, held, pool));
    progress((begin + stored.rows) * Info(held.format).row_bytes(held.cols));
  }
  return held.view();
}

Result<FfnView> ConvertExpert(const ExpertRecord& expert, const FfnView& stored,
                              std::span<std::byte> destination, ThreadPool& pool) {
  const auto convert = [&](const StoredMatrix& matrix,
                           const WeightView& source) -> Result<WeightView> {
    const QuantizedMatrix held = Held(matrix, destination);
    destination = destination.subspan(AlignUp(HeldBytes(matrix), kMatrixAlignment));
    if (matrix.converts()) {
      COLI_RETURN_IF_ERROR(ConvertRows(matrix, source, 0, held, pool));
    } else {
      std::memcpy(held.codes, source.codes, matrix.codes.bytes);
      if (matrix.scales.bytes != 0) {
        std::memcpy(held.scales, source.scales, matrix.scales.bytes);
      }
    }
    return held.view();
  };
  FfnView held;
  COLI_ASSIGN_OR_RETURN(held.gate, convert(expert.gate, stored.gate));
  COLI_ASSIGN_OR_RETURN(held.up, convert(expert.up, stored.up));
  COLI_ASSIGN_OR_RETURN(held.down, convert(expert.down, stored.down));
  return held;
}

}  // namespace coli
