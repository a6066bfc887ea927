// A file to measure the drive with: read past the page cache where the file system can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "sys/file.h"

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

  // Fills `destination` from `offset`; memory, size and offset are multiples of kAlignment.
  Status Read(uint64_t offset, std::span<std::byte> destination) const;
  // Where reads go through the page cache: empties it of this file.
  void DropPages() const;

  uint64_t size() const { return file_.size(); }
  bool direct() const { return file_.direct(); }  // reads do not go through the page cache
  const File& file() const { return file_; }      // for engines; its path may mean nothing

 private:
  DiskFile(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  File file_;
  std::string path_;  // for errors: of a file without a name its directory
};

// Empties the page cache of the weights in `directory`, as far as the system takes the advice.
// Error: kIo when it cannot be listed or a file not be opened.
Status DropPageCache(const std::filesystem::path& directory);

}  // namespace coli
