// Number formats: the one place that knows how many bytes a matrix takes and what they mean.
//
// A matrix [rows, cols] in a format is two byte ranges: codes and scales (the latter empty for
// plain floats). Everything else in the program asks here: the planner, the allocator, the
// container reader, the reference kernel.
//
// Adding a format is one file under formats/ and one line in formats.def. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/format_id.h"
#include "tensor/tensor_view.h"

namespace coli {

// How the numerics contract cuts a weight row (docs/numerics.md).
enum class Arithmetic : uint8_t {
  kFloat,    // f32 products over 16 virtual lanes; codes are floats
  kInteger,  // int16 activations, exact integer sums per segment, 8 virtual lanes
};

enum class ScaleKind : uint8_t {
  kNone,            // plain floats
  kF32,             // little-endian
  kHalfPowerOfTwo,  // one byte e, 2^(e - 128): UE8M0 for codes in halves; 255 is NaN
};

// What the program may know about a format. All functions are total for rows, cols < 2^31.
struct FormatInfo {
  FormatId id{};
  std::string_view name{};  // "int4-grouped": in messages, stamps and options
  Arithmetic arithmetic = Arithmetic::kFloat;
  ScaleKind scale_kind = ScaleKind::kNone;
  bool grouped = false;        // Format::group must be one of kGroupSizes; otherwise it must be 0
  uint32_t scale_columns = 0;  // columns that share a scale; 0: Format::group, or the whole row
  uint32_t scale_rows = 1;     // rows that share their scales
  // Larger scales make weights that are not finite.
  float largest_scale = std::numeric_limits<float>::max();
  // Magnitudes from here on have no finite code.
  float overflow = std::numeric_limits<float>::infinity();
  uint64_t (*row_bytes)(uint64_t cols) = nullptr;  // bytes of codes of one row
  // Columns [0, cols) of one row as f32. `scales` are those of the row, from its first column on.
  void (*decode_row)(const std::byte* codes, const std::byte* scales, uint64_t cols, uint32_t group,
                     float* out) = nullptr;
  // The quantiser of 1..scale_rows rows that share their scales: writes their codes
  // (row_bytes(cols) each, padding included) and their scales. Values must be finite and below
  // `overflow`, except that the 16-bit floats keep infinities and NaN. Rounds to nearest, ties to
  // even. For whole matrices: tensor/quantize.h.
  void (*encode_block)(ConstMatrixView values, uint32_t group, std::byte* codes,
                       std::byte* scales) = nullptr;
  // Integer formats only: the signed codes of columns [0, cols); what the reference kernel
  // multiplies.
  void (*unpack_row)(const std::byte* codes, uint64_t cols, int16_t* out) = nullptr;
  // Integer formats: consecutive columns per virtual lane.
  uint32_t lane_run = 0;
};

// Columns that may share a scale in grouped formats, ascending.
inline constexpr uint32_t kGroupSizes[] = {16, 32, 48, 64, 96, 128, 192, 256};

const FormatInfo& Info(FormatId id);
std::span<const FormatInfo> AllFormats();
std::optional<FormatId> FindFormat(std::string_view name);

inline const FormatInfo& Info(Format format) { return Info(format.id); }

// Whether `format` names a known format with a group size that it allows.
bool IsValid(Format format);

// Bytes of the two ranges of a [rows, cols] matrix; nothing when they do not fit 64 bits.
std::optional<uint64_t> CodeBytes(Format format, uint64_t rows, uint64_t cols);
std::optional<uint64_t> ScaleBytes(Format format, uint64_t rows, uint64_t cols);

// Columns that share a scale; 0 when there is one for the whole row, or none.
inline uint32_t ScaleColumns(Format format) {
  return format.group != 0 ? format.group : Info(format).scale_columns;
}

// Scales of one row of `cols` columns, which it may share with other rows (FormatInfo::scale_rows),
// and their bytes.
uint64_t RowScales(Format format, uint64_t cols);
uint64_t RowScaleBytes(Format format, uint64_t cols);
// Scale `index` of those at `scales`, which are not of kind kNone.
float Scale(Format format, const std::byte* scales, uint64_t index);

// Columns per segment of exact integer arithmetic: those that share a scale, or 256 for formats
// with one scale per row.
inline constexpr uint32_t kRowSegment = 256;
inline uint32_t SegmentColumns(Format format) {
  const uint32_t columns = ScaleColumns(format);
  return columns != 0 ? columns : kRowSegment;
}

}  // namespace coli
