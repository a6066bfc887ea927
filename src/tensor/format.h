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
#include <optional>
#include <span>
#include <string_view>

#include "tensor/format_id.h"

namespace coli {

// How the numerics contract cuts a weight row (docs/numerics.md).
enum class Arithmetic : uint8_t {
  kFloat,    // f32 products over 16 virtual lanes; codes are floats
  kInteger,  // int16 activations, exact integer sums per segment, 8 virtual lanes
};

// What the program may know about a format. All functions are total for rows, cols < 2^31.
struct FormatInfo {
  FormatId id;
  std::string_view name;  // "int4-grouped": in messages, stamps and options
  Arithmetic arithmetic;
  bool grouped;  // Format::group must be one of kGroupSizes; otherwise it must be 0
  uint64_t (*row_bytes)(uint64_t cols);                   // bytes of codes of one row
  uint64_t (*row_scales)(uint64_t cols, uint32_t group);  // f32 scales of one row
  // Columns [0, cols) of one row as f32. `codes` holds row_bytes(cols), `scales` row_scales(cols,
  // group) floats.
  void (*decode_row)(const std::byte* codes, const float* scales, uint64_t cols, uint32_t group,
                     float* out);
  // The quantiser: writes codes (row_bytes(cols), padding included) and scales. Inputs must be
  // finite, except that the 16-bit floats keep infinities and NaN. Rounds to nearest, ties to even.
  void (*encode_row)(const float* values, uint64_t cols, uint32_t group, std::byte* codes,
                     float* scales);
  // Integer formats only: the signed codes of columns [0, cols); what the reference kernel
  // multiplies.
  void (*unpack_row)(const std::byte* codes, uint64_t cols, int16_t* out);
  uint32_t
      lane_run;  // integer formats: consecutive columns per virtual lane (8 for int4, 2 for int8)
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

// Columns per segment of exact integer arithmetic: the weight group, or 256 for formats with one
// scale per row.
inline constexpr uint32_t kRowSegment = 256;
inline uint32_t SegmentColumns(Format format) {
  return format.group != 0 ? format.group : kRowSegment;
}

}  // namespace coli
