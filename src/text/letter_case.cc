#include "text/letter_case.h"

#include <utf8proc.h>

#include "text/utf8.h"

namespace coli {

std::string LowerCase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char next = DecodeUtf8(text);
    const auto code_point = static_cast<utf8proc_int32_t>(next.code_point);
    AppendUtf8(static_cast<uint32_t>(utf8proc_tolower(code_point)), lower);
    text.remove_prefix(next.length);
  }
  return lower;
}

}  // namespace coli
