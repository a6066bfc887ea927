// Files opened for reading: exact reads at an offset, or an error that names the file. Never mapped
// into memory, so a truncated or replaced file is an error and not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace coli {

// A regular file, open for reading. Move-only; thread-safe for reads.
class File {
 public:
  // Errors: kNotFound, kIo (with the system's reason), kInvalidArgument for anything that is not a
  // regular file (a FIFO or device is never waited for).
  static Result<File> OpenRead(const std::filesystem::path& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  // Fills `destination` from `offset`. Short reads and EINTR are retried; the end of the file
  // before the last byte is kCorrupt: "<path>: unexpected end of file at byte N, wanted M more".
  Status ReadExact(uint64_t offset, std::span<std::byte> destination) const;

  uint64_t size() const { return size_; }  // bytes, as it was at open
  const std::string& path() const { return path_; }

 private:
  File(int descriptor, uint64_t size, std::string path);
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::string path_;
};

// The whole file as text. Errors as File; kCorrupt when it is larger than `max_bytes`.
Result<std::string> ReadTextFile(const std::filesystem::path& path, uint64_t max_bytes);

}  // namespace coli
