#include "text/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace coli {
namespace {

constexpr uint32_t kFirstStandIn = 0x100;
constexpr uint32_t kStandIns = 68;

constexpr bool SpellsItself(uint32_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) ||
         (byte >= 174 && byte <= 255);
}

constexpr std::array<uint8_t, kStandIns> kByteOfStandIn = [] {
  std::array<uint8_t, kStandIns> bytes{};
  size_t next = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (!SpellsItself(byte)) {
      bytes[next++] = static_cast<uint8_t>(byte);
    }
  }
  return bytes;
}();

}  // namespace

std::string SpellByte(uint8_t byte) {
  uint32_t code_point = byte;
  if (!SpellsItself(byte)) {
    code_point = kFirstStandIn;
    while (kByteOfStandIn[code_point - kFirstStandIn] != byte) {
      ++code_point;
    }
  }
  std::string spelled;
  AppendUtf8(code_point, spelled);
  return spelled;
}

std::optional<std::string> UnspellBytes(std::string_view spelled) {
  std::string bytes;
  bytes.reserve(spelled.size());
  while (!spelled.empty()) {
    const Utf8Char next = DecodeUtf8(spelled);
    spelled.remove_prefix(next.length);
    if (next.state != Utf8State::kValid) {
      return std::nullopt;
    }
    if (SpellsItself(next.code_point)) {
      bytes.push_back(static_cast<char>(next.code_point));
    } else if (next.code_point >= kFirstStandIn && next.code_point < kFirstStandIn + kStandIns) {
      bytes.push_back(static_cast<char>(kByteOfStandIn[next.code_point - kFirstStandIn]));
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace coli
