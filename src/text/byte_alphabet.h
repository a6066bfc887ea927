// The alphabet in which byte-level BPE files spell bytes: one printable character for each of the
// 256. Source: GPT-2. Bytes 33-126, 161-172 and 174-255 are the characters of the same number; the
// other 68, in ascending order, are U+0100 and following.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coli {

// The character that spells a byte, as UTF-8.
std::string SpellByte(uint8_t byte);

// The bytes that a token of the file stands for; nothing if it contains a character that is not of
// the alphabet. `spelled` is valid UTF-8.
std::optional<std::string> UnspellBytes(std::string_view spelled);

}  // namespace coli
