#include "text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "text/utf8.h"

namespace coli {
namespace {

constexpr size_t kMaxCombining = 256;

struct FreeDeleter {
  void operator()(utf8proc_uint8_t* bytes) const {
    free(bytes);
  }  // NOLINT: the library allocates with malloc
};

Status CheckCombiningRuns(std::string_view text) {
  size_t run = 0;
  size_t offset = 0;
  while (offset < text.size()) {
    const Utf8Char next = DecodeUtf8(text.substr(offset));
    const auto* properties = utf8proc_get_property(static_cast<utf8proc_int32_t>(next.code_point));
    run = properties->combining_class == 0 ? 0 : run + 1;
    if (run > kMaxCombining) {
      return Fail(ErrorCode::kInvalidArgument,
                  "byte {}: more than {} combining characters in a row", offset, kMaxCombining);
    }
    offset += next.length;
  }
  return Ok();
}

}  // namespace

Result<std::string> NormalizeNfc(std::string_view text) {
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    return std::string(text);
  }
  COLI_RETURN_IF_ERROR(CheckCombiningRuns(text));
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &bytes,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, FreeDeleter> owner(bytes);
  if (length < 0) {
    return Fail(ErrorCode::kInvalidArgument, "normalisation failed: {}", utf8proc_errmsg(length));
  }
  return std::string(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

}  // namespace coli
