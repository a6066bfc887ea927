// For tests: a File whose reads wait until the test lets them go on.
#pragma once

#include <unistd.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "sys/file.h"

namespace coli {

class FilePeer {
 public:
  static File Adopt(int descriptor) { return {descriptor, 0, "pipe"}; }
};

namespace testing {

// Reads of file() through io_uring hang until Write; pread refuses a pipe.
class PipeFile {
 public:
  PipeFile() : PipeFile(MakePipe()) {}
  PipeFile(const PipeFile&) = delete;
  PipeFile& operator=(const PipeFile&) = delete;
  ~PipeFile() { ::close(write_end_); }

  const File& file() const { return file_; }
  void Write(const char* text, size_t bytes) const {
    COLI_CHECK(::write(write_end_, text, bytes) == static_cast<ssize_t>(bytes));
  }

 private:
  explicit PipeFile(std::array<int, 2> ends)
      : file_(FilePeer::Adopt(ends[0])), write_end_(ends[1]) {}
  static std::array<int, 2> MakePipe() {
    std::array<int, 2> ends{};
    COLI_CHECK(::pipe(ends.data()) == 0);
    return ends;
  }

  File file_;
  int write_end_;
};

}  // namespace testing
}  // namespace coli
