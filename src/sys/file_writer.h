// A new file, written from front to back. Nothing that exists is ever overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace coli {

// Collects small pieces and writes large ones. Move-only; thread-compatible.
class FileWriter {
 public:
  // Error: kIo with the system's reason, also when the file exists.
  static Result<FileWriter> Create(const std::filesystem::path& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;
  // Closes; what was not finished may be lost.
  ~FileWriter();

  // Errors: kIo, "<path>: cannot write at byte N: <reason>".
  Status Append(std::span<const std::byte> bytes);
  Status Append(std::string_view text);
  // The next `bytes` are zeros that take no room where the file system has holes.
  Status Skip(uint64_t bytes);
  // Writes what is left and waits until the drive has it all. The last call.
  Status Finish();
  // Removes the file, as far as the system lets it. The last call.
  void Abandon();

  uint64_t bytes() const { return written_ + buffer_.size(); }  // appended so far
  const std::string& path() const { return path_; }

 private:
  FileWriter(int descriptor, std::string path);
  Status Flush();
  Status Write(std::span<const std::byte> bytes);

  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::string path_;
  std::vector<std::byte> buffer_;
};

// A whole new text file that is there completely or not at all, also after a power cut: written
// under another name beside it, then renamed. Errors: kIo naming the file.
Status WriteNewTextFile(const std::filesystem::path& path, std::string_view text);

}  // namespace coli
