// A file to measure the drive with: read past the page cache where the file system can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"

namespace coli {

// Move-only; thread-safe for reads.
class DiskFile {
 public:
  static constexpr size_t kAlignment = 4096;

  static Result<DiskFile> Open(const std::filesystem::path& path);
  // `bytes` random bytes in `directory`, in a file without a name: it is gone with this object, and
  // also when the process is killed. Errors: kIo, also when the drive would be left with too little
  // room; kCancelled.
  static Result<DiskFile> MakeTemporary(const std::filesystem::path& directory, uint64_t bytes,
                                        const std::function<bool()>& cancelled);
  DiskFile(DiskFile&& other) noexcept;
  DiskFile& operator=(DiskFile&& other) noexcept;
  ~DiskFile();

  // Fills `destination` from `offset`; memory, size and offset are multiples of kAlignment.
  Status Read(uint64_t offset, std::span<std::byte> destination) const;
  // Where reads go through the page cache: empties it of this file.
  void DropPages() const;

  uint64_t size() const { return size_; }
  bool direct() const { return direct_; }  // reads do not go through the page cache

 private:
  DiskFile(int descriptor, std::string path);
  Status Write(uint64_t bytes, const std::function<bool()>& cancelled);
  Status Measure();
  void GoDirect();

  int descriptor_ = -1;
  std::string path_;
  uint64_t size_ = 0;
  bool direct_ = false;
};

}  // namespace coli
