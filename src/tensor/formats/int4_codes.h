// How the int4 formats store codes: q in [-8, 7] as q + 8; byte j holds element 2j in its low
// nibble and 2j + 1 in its high nibble; the high nibble after an odd last element is 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coli {

inline uint64_t Int4RowBytes(uint64_t cols) { return cols / 2 + cols % 2; }

inline int32_t Int4Code(const std::byte* codes, uint64_t column) {
  const uint32_t byte = std::to_integer<uint32_t>(codes[column / 2]);
  return static_cast<int32_t>((byte >> (4 * (column % 2))) & 15U) - 8;
}

void Int4UnpackRow(const std::byte* codes, uint64_t cols, int16_t* out);

// Quantises and packs columns [0, count) with one scale, which is returned. `codes` starts at an
// even column.
float Int4EncodeGroup(const float* values, uint64_t count, std::byte* codes);

}  // namespace coli
