#include "text/utf8.h"

#include <algorithm>

namespace coli {
namespace {

// What may follow a leading byte (Unicode 15, table 3-7): the number of bytes, and the range of the
// second one, which is where overlong forms, surrogates and values above U+10FFFF are excluded.
struct Lead {
  size_t length;  // 0: not a leading byte
  uint8_t second_min;
  uint8_t second_max;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) {
    return {1, 0, 0};
  }
  if (byte < 0xC2) {
    return {0, 0, 0};
  }
  if (byte < 0xE0) {
    return {2, 0x80, 0xBF};
  }
  if (byte == 0xE0) {
    return {3, 0xA0, 0xBF};
  }
  if (byte == 0xED) {
    return {3, 0x80, 0x9F};
  }
  if (byte < 0xF0) {
    return {3, 0x80, 0xBF};
  }
  if (byte == 0xF0) {
    return {4, 0x90, 0xBF};
  }
  if (byte < 0xF4) {
    return {4, 0x80, 0xBF};
  }
  if (byte == 0xF4) {
    return {4, 0x80, 0x8F};
  }
  return {0, 0, 0};
}

uint8_t ByteAt(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

}  // namespace

Utf8Char DecodeUtf8(std::string_view text) {
  const uint8_t first = ByteAt(text, 0);
  const Lead lead = LeadOf(first);
  if (lead.length == 0) {
    return {Utf8State::kInvalid, 1, 0};
  }
  if (lead.length == 1) {
    return {Utf8State::kValid, 1, first};
  }

  uint32_t code_point = first & (0x7Fu >> lead.length);
  for (size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) {
      return {Utf8State::kIncomplete, i, 0};
    }
    const uint8_t byte = ByteAt(text, i);
    const uint8_t min = i == 1 ? lead.second_min : uint8_t{0x80};
    const uint8_t max = i == 1 ? lead.second_max : uint8_t{0xBF};
    if (byte < min || byte > max) {
      return {Utf8State::kInvalid, i, 0};
    }
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {Utf8State::kValid, lead.length, code_point};
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (ByteAt(text, at) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Char next = DecodeUtf8(text.substr(at));
    if (next.state != Utf8State::kValid) {
      return at;
    }
    at += next.length;
  }
  return std::nullopt;
}

void AppendUtf8(uint32_t code_point, std::string& out) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

bool IsWhiteSpace(uint32_t c) {
  return std::ranges::any_of(kWhiteSpace, [&](const CodePointRange& range) {
    return c >= range.first && c <= range.last;
  });
}

std::string_view StripWhiteSpace(std::string_view text) {
  const auto strips = [](uint32_t c) { return IsWhiteSpace(c) || (c >= 0x1C && c <= 0x1F); };
  while (!text.empty()) {
    const Utf8Char first = DecodeUtf8(text);
    if (first.state != Utf8State::kValid || !strips(first.code_point)) {
      break;
    }
    text.remove_prefix(first.length);
  }
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (ByteAt(text, begin) & 0xC0) == 0x80) {
      --begin;
    }
    const Utf8Char last = DecodeUtf8(text.substr(begin));
    if (last.state != Utf8State::kValid || !strips(last.code_point)) {
      break;
    }
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

}  // namespace coli
