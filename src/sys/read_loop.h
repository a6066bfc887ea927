// A positional read from its first call of the system to its last byte: the one place that deals
// with short reads and interrupted calls.
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

// What is left of a read, and what became of it. Thread-compatible.
class ReadProgress {
 public:
  // Of the bytes at `offset` into `destination`; over when the first `needed` (<= its size) are
  // there. `path` must outlive this and starts every error.
  ReadProgress(std::string_view path, uint64_t offset, std::span<std::byte> destination,
               size_t needed);

  bool over() const { return !status_ || arrived_ >= needed_; }
  // Not over: what the next call is to read.
  std::span<std::byte> rest() const { return destination_.subspan(arrived_); }
  uint64_t offset() const { return offset_ + arrived_; }
  // Takes what a call for `rest` gave, at most all of it: bytes, 0 at the end of the file, or minus
  // an errno.
  void Add(ssize_t result);

  // Over: kCorrupt at the end of the file before the last needed byte, kIo with the system's
  // reason; both name the offset.
  const Status& status() const { return status_; }
  size_t arrived() const { return arrived_; }

 private:
  // Of calls in a row that the system asks to repeat: a drive with so much to do is broken.
  static constexpr unsigned kMaxRepetitions = 10'000;

  std::string_view path_;
  uint64_t offset_;
  std::span<std::byte> destination_;
  size_t needed_;
  size_t arrived_ = 0;
  unsigned repetitions_ = 0;
  Status status_;
};

// As pread(2): the number of bytes read, 0 at the end of the file, -1 with errno set.
using PositionalRead =
    std::function<ssize_t(std::byte* destination, size_t bytes, uint64_t offset)>;

// Fills `destination` from `offset` by as many calls of `read` as it takes. Errors as ReadProgress.
Status ReadFully(const PositionalRead& read, uint64_t offset, std::span<std::byte> destination,
                 std::string_view path);

// The system's text for an errno value; thread-safe.
std::string SystemErrorText(int error_number);

}  // namespace coli
