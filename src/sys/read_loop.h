// The loop around a positional read: the one place that deals with short reads and interrupted
// calls.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace coli {

// As pread(2): the number of bytes read, 0 at the end of the file, -1 with errno set.
using PositionalRead =
    std::function<ssize_t(std::byte* destination, size_t bytes, uint64_t offset)>;

// Fills `destination` from `offset` by as many calls of `read` as it takes. Errors: kCorrupt at the
// end of the file before the last byte, kIo with the system's reason; both start with `path` and
// name the offset.
Status ReadFully(const PositionalRead& read, uint64_t offset, std::span<std::byte> destination,
                 std::string_view path);

// The system's text for an errno value; thread-safe.
std::string SystemErrorText(int error_number);

}  // namespace coli
