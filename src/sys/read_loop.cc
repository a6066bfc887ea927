#include "sys/read_loop.h"

#include <cerrno>
#include <limits>
#include <system_error>

#include "base/check.h"

namespace coli {

ReadProgress::ReadProgress(std::string_view path, uint64_t offset, std::span<std::byte> destination,
                           size_t needed)
    : path_(path), offset_(offset), destination_(destination), needed_(needed) {
  constexpr uint64_t kLargestOffset = std::numeric_limits<int64_t>::max();
  COLI_CHECK(needed <= destination.size());
  if (offset > kLargestOffset || destination.size() > kLargestOffset - offset) {
    status_ = Fail(ErrorCode::kCorrupt, "{}: no file holds {} bytes from byte {}", path,
                   destination.size(), offset);
  }
}

void ReadProgress::Add(ssize_t result) {
  if (result > 0) {
    arrived_ += static_cast<size_t>(result);
    repetitions_ = 0;
    COLI_CHECK(arrived_ <= destination_.size());
    return;
  }
  if (result == 0) {
    status_ = Fail(ErrorCode::kCorrupt, "{}: unexpected end of file at byte {}, wanted {} more",
                   path_, offset(), needed_ - arrived_);
    return;
  }
  const bool repeat = result == -EINTR || result == -EAGAIN;
  if (!repeat || ++repetitions_ > kMaxRepetitions) {
    status_ = Fail(ErrorCode::kIo, "{}: reading {} bytes at byte {} failed: {}", path_,
                   rest().size(), offset(), SystemErrorText(static_cast<int>(-result)));
  }
}

Status ReadFully(const PositionalRead& read, uint64_t offset, std::span<std::byte> destination,
                 std::string_view path) {
  ReadProgress progress(path, offset, destination, destination.size());
  while (!progress.over()) {
    const std::span<std::byte> rest = progress.rest();
    const ssize_t got = read(rest.data(), rest.size(), progress.offset());
    progress.Add(got < 0 ? -static_cast<ssize_t>(errno) : got);
  }
  return progress.status();
}

std::string SystemErrorText(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace coli
