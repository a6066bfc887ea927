// One request on its way to a file, call by call: which descriptor each call goes to, and what its
// result means. Shared by the engines, which only make the calls.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "sys/io_engine.h"
#include "sys/read_loop.h"

namespace coli {

// Thread-compatible. Must not outlive the request's file.
class FileRead {
 public:
  struct Call {
    int descriptor;
    std::span<std::byte> destination;
    uint64_t offset;
    bool direct;  // past the page cache
  };

  // `allow_direct` false: through the page cache, whatever suits.
  FileRead(const ReadRequest& request, bool allow_direct);

  bool over() const { return progress_.over(); }
  // Not over: the call to make.
  Call Next();
  // What the call of Next gave: bytes, 0 at the end of the file, or minus an errno.
  void Add(ssize_t result);

  uint64_t tag() const { return tag_; }
  Urgency urgency() const { return urgency_; }  // with which it began
  const Status& status() const { return progress_.status(); }
  size_t arrived() const { return progress_.arrived(); }
  bool direct() const { return !cached_; }  // all bytes came past the page cache

 private:
  const File* file_;
  uint64_t tag_;
  Urgency urgency_;
  bool allow_direct_;
  bool calls_direct_ = false;  // the call that runs
  bool cached_ = false;
  ReadProgress progress_;
};

// Some file systems refuse only the reads: finds out with one, and the file remembers.
void TryDirectRead(const File& file);

}  // namespace coli
