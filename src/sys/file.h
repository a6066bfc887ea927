// Files opened for reading: exact reads at an offset, or an error that names the file. Never mapped
// into memory, so a truncated or replaced file is an error and not a signal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace coli {

// Offsets, sizes and addresses that are multiples of this suit a read past the page cache of every
// file that can be read so.
inline constexpr uint64_t kDirectAlignment = 4096;

// Whether a file is opened for reads past the page cache, too.
enum class DirectReads : uint8_t { kOff, kTry };

// A regular file, open for reading. Move-only; thread-safe for reads.
class File {
 public:
  // Errors: kNotFound, kIo (with the system's reason), kInvalidArgument for anything that is not a
  // regular file (a FIFO or device is never waited for). A file that cannot be read past the page
  // cache is none: why_not_direct() says so.
  static Result<File> OpenRead(const std::filesystem::path& path,
                               DirectReads direct = DirectReads::kOff);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  // Fills `destination` from `offset`. Short reads and EINTR are retried; the end of the file
  // before the last byte is kCorrupt: "<path>: unexpected end of file at byte N, wanted M more".
  Status ReadExact(uint64_t offset, std::span<std::byte> destination) const;

  uint64_t size() const { return size_; }  // bytes, as it was at open
  const std::string& path() const { return path_; }

  // Reads may go past the page cache, as far as is known: some file systems take the flag at open
  // and refuse the first read.
  bool direct() const;
  // Empty while direct().
  std::string why_not_direct() const;
  // Whether a read of `destination` at `offset` may go past the page cache.
  bool SuitsDirect(uint64_t offset, std::span<const std::byte> destination) const;
  // Remembers that a read past the page cache failed with `error_number` although it suited.
  void RefuseDirect(int error_number) const { direct_refusal_ = error_number; }

  // For pread and its like; of the second, past the page cache, only while direct().
  int descriptor() const { return descriptor_; }
  int direct_descriptor() const { return direct_descriptor_; }

 private:
  friend class FilePeer;  // tests: files around other descriptors

  // What reads past the page cache must be multiples of.
  struct Alignment {
    uint64_t memory = kDirectAlignment;
    uint64_t offset = kDirectAlignment;
  };

  File(int descriptor, uint64_t size, std::string path);
  Status Measure();
  void OpenDirect();

  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::string path_;
  int direct_descriptor_ = -1;
  Alignment alignment_;
  std::string why_not_direct_ = "not asked for";  // while there is no second descriptor
  mutable std::atomic<int> direct_refusal_ = 0;   // an errno; found out by reads in any thread
};

// The whole file as text. Errors as File; kCorrupt when it is larger than `max_bytes`.
Result<std::string> ReadTextFile(const std::filesystem::path& path, uint64_t max_bytes);

}  // namespace coli
