// Turns the bytes of a token stream into text that may be shown at once: never half a character.
#pragma once

#include <string>
#include <string_view>

namespace coli {

// Bytes in, valid UTF-8 out. A character whose bytes are spread over several tokens is held back
// until it is complete; a sequence that cannot become a character any more turns into U+FFFD. All
// pieces and the flush together equal the decoding of all bytes at once. Thread-compatible.
class Utf8Stream {
 public:
  std::string Feed(std::string_view bytes);

  // The end of the stream: a character that is still incomplete becomes U+FFFD. The stream is as
  // new afterwards.
  std::string Flush();

 private:
  std::string pending_;  // the beginning of a character, at most 3 bytes
};

}  // namespace coli
