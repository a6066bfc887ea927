// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coli {

enum class Utf8State { kValid, kInvalid, kIncomplete };

// The first character of a string. length: its bytes; when kInvalid the bytes that one U+FFFD
// stands for (the longest beginning of some character, at least one byte); when kIncomplete
// everything that is left.
struct Utf8Char {
  Utf8State state;
  size_t length;
  uint32_t code_point;  // only when kValid
};

// `text` is not empty.
Utf8Char DecodeUtf8(std::string_view text);

// The offset of the first byte that is not part of a valid character.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

// `code_point` is at most 0x10FFFF and no surrogate.
void AppendUtf8(uint32_t code_point, std::string& out);

// Unicode White_Space: what \s means in the pre-tokenizer patterns of checkpoints.
struct CodePointRange {
  uint32_t first;
  uint32_t last;
};
inline constexpr std::array<CodePointRange, 10> kWhiteSpace = {{{0x9, 0xD},
                                                                {0x20, 0x20},
                                                                {0x85, 0x85},
                                                                {0xA0, 0xA0},
                                                                {0x1680, 0x1680},
                                                                {0x2000, 0x200A},
                                                                {0x2028, 0x2029},
                                                                {0x202F, 0x202F},
                                                                {0x205F, 0x205F},
                                                                {0x3000, 0x3000}}};
bool IsWhiteSpace(uint32_t code_point);

// Without the white space at both ends; U+001C to U+001F count as white space here, as in Python's
// str.strip. `text` is valid UTF-8.
std::string_view StripWhiteSpace(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace coli
