#include "sys/file_read.h"

#include <unistd.h>

#include <cerrno>

#include "sys/aligned_buffer.h"

namespace coli {

FileRead::FileRead(const ReadRequest& request, bool allow_direct)
    : file_(request.file),
      tag_(request.tag),
      urgency_(request.urgency),
      allow_direct_(allow_direct),
      progress_(request.file->path(), request.offset, request.destination, request.NeededBytes()) {}

// What is left after a short read, at the end of a file for instance, may suit no longer.
FileRead::Call FileRead::Next() {
  const std::span<std::byte> rest = progress_.rest();
  const uint64_t offset = progress_.offset();
  calls_direct_ = allow_direct_ && file_->SuitsDirect(offset, rest);
  cached_ = cached_ || !calls_direct_;
  return {calls_direct_ ? file_->direct_descriptor() : file_->descriptor(), rest, offset,
          calls_direct_};
}

void FileRead::Add(ssize_t result) {
  if (calls_direct_ && (result == -EINVAL || result == -EOPNOTSUPP)) {
    file_->RefuseDirect(static_cast<int>(-result));
    return;
  }
  progress_.Add(result);
}

void TryDirectRead(const File& file) {
  const auto buffer = AlignedBuffer::Allocate(kDirectAlignment);
  if (!buffer || !file.SuitsDirect(0, buffer->bytes())) {
    return;
  }
  FileRead read({&file, 0, buffer->bytes()}, true);
  const FileRead::Call call = read.Next();
  const ssize_t got = ::pread(call.descriptor, call.destination.data(), call.destination.size(), 0);
  read.Add(got < 0 ? -static_cast<ssize_t>(errno) : got);
}

}  // namespace coli
