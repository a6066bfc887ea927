#include "sys/read_loop.h"

#include <cerrno>
#include <limits>
#include <system_error>

namespace coli {

Status ReadFully(const PositionalRead& read, uint64_t offset, std::span<std::byte> destination,
                 std::string_view path) {
  constexpr uint64_t kLargestOffset = std::numeric_limits<int64_t>::max();
  if (offset > kLargestOffset || destination.size() > kLargestOffset - offset) {
    return Fail(ErrorCode::kCorrupt, "{}: no file holds {} bytes from byte {}", path,
                destination.size(), offset);
  }
  while (!destination.empty()) {
    const ssize_t got = read(destination.data(), destination.size(), offset);
    if (got > 0) {
      destination = destination.subspan(static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
    } else if (got == 0) {
      return Fail(ErrorCode::kCorrupt, "{}: unexpected end of file at byte {}, wanted {} more",
                  path, offset, destination.size());
    } else if (const int reason = errno; reason != EINTR) {
      return Fail(ErrorCode::kIo, "{}: reading {} bytes at byte {} failed: {}", path,
                  destination.size(), offset, SystemErrorText(reason));
    }
  }
  return Ok();
}

std::string SystemErrorText(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace coli
