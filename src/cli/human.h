// Numbers as people read and write them: bytes, durations, rates. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace coli {

// "512 B", "11.2 MiB", "370 GiB": three significant digits, powers of 1024.
std::string FormatBytes(uint64_t bytes);

// "0.21 s", "12 s", "3 min 20 s", "2 h 05 min".
std::string FormatDuration(double seconds);

// Tokens per second: "35.2 tok/s", "0.042 tok/s".
std::string FormatRate(double tokens, double seconds);

// A line of a list of facts: an indented name, and the value in a column.
std::string FactLine(std::string_view name, std::string_view value);

// "20G", "1.5 GiB", "800M", "123456": K, M, G, T (with or without iB) are powers of 1024, KB, MB,
// GB and TB powers of 1000, a number alone is bytes. Errors: kInvalidArgument.
Result<uint64_t> ParseBytes(std::string_view text);

// The candidate closest to `name` by edit distance, "" when none is close enough to be what was
// meant.
template <class Range>
std::string NearestName(std::string_view name, const Range& candidates);

// Insertions, deletions, substitutions and swaps of neighbours between two words.
size_t EditDistance(std::string_view a, std::string_view b);

template <class Range>
std::string NearestName(std::string_view name, const Range& candidates) {
  size_t best_distance = name.size() / 3 + 2;  // at least this far: no hint
  std::string best;
  for (const auto& candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace coli
