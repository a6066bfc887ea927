#include "sys/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "sys/read_loop.h"

namespace coli {
namespace {

constexpr std::chrono::milliseconds kPause{10};

// Of the open file, not of the process: two engines of one process exclude each other, too. False
// with errno set; EAGAIN: somebody has it.
bool TryLock(int descriptor, short kind) {
  struct flock whole = {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

}  // namespace

Result<FileLock> FileLock::Share(const std::filesystem::path& path) {
  FileLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (lock.descriptor_ < 0) {
    return Fail(ErrorCode::kIo, "{}: cannot be opened: {}", path.string(), SystemErrorText(errno));
  }
  for (int waited_ms = 0; !TryLock(lock.descriptor_, F_RDLCK);
       waited_ms += static_cast<int>(kPause.count())) {
    if (errno != EINTR && errno != EAGAIN && errno != EACCES) {
      return Fail(ErrorCode::kIo, "{}: cannot be locked: {}", path.string(),
                  SystemErrorText(errno));
    }
    if (waited_ms >= kPatience_ms) {
      return Fail(ErrorCode::kIo, "{}: another process keeps it locked", path.string());
    }
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

bool FileLock::TakeAlone() { return TryLock(descriptor_, F_WRLCK); }

}  // namespace coli
