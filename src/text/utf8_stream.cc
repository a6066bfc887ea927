#include "text/utf8_stream.h"

#include "text/utf8.h"

namespace coli {

std::string Utf8Stream::Feed(std::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    joined = pending_ + std::string(bytes);
    bytes = joined;
    pending_.clear();
  }
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Char next = DecodeUtf8(bytes);
    if (next.state == Utf8State::kIncomplete) {
      pending_ = bytes;
      break;
    }
    text += next.state == Utf8State::kValid ? bytes.substr(0, next.length) : kReplacementCharacter;
    bytes.remove_prefix(next.length);
  }
  return text;
}

std::string Utf8Stream::Flush() {
  if (pending_.empty()) {
    return {};
  }
  pending_.clear();
  return std::string(kReplacementCharacter);
}

}  // namespace coli
