#include "sys/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "sys/read_loop.h"

namespace coli {
namespace {

// O_NONBLOCK: opening a FIFO without a writer must not wait; it has no effect on regular files.
int OpenRetrying(const std::string& path) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) {
    return "a directory";
  }
  if (S_ISFIFO(mode)) {
    return "a FIFO";
  }
  if (S_ISSOCK(mode)) {
    return "a socket";
  }
  if (S_ISCHR(mode) || S_ISBLK(mode)) {
    return "a device";
  }
  return "something else";
}

tl::unexpected<Error> OpenError(const std::string& path, int reason) {
  if (reason == ENOENT || reason == ENOTDIR) {
    return Fail(ErrorCode::kNotFound, "{}: {}", path, SystemErrorText(reason));
  }
  if (reason == ENXIO) {  // a socket, or a device without a driver
    return Fail(ErrorCode::kInvalidArgument,
                "{}: expected a regular file, found a socket or device", path);
  }
  return Fail(ErrorCode::kIo, "{}: cannot be opened: {}", path, SystemErrorText(reason));
}

}  // namespace

File::File(int descriptor, uint64_t size, std::string path)
    : descriptor_(descriptor), size_(size), path_(std::move(path)) {}

Result<File> File::OpenRead(const std::filesystem::path& path) {
  const int descriptor = OpenRetrying(path.string());
  if (descriptor < 0) {
    return OpenError(path.string(), errno);
  }
  File file(descriptor, 0, path.string());
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0) {
    return Fail(ErrorCode::kIo, "{}: its size cannot be read: {}", file.path(),
                SystemErrorText(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected a regular file, found {}", file.path(),
                KindOf(facts.st_mode));
  }
  file.size_ = static_cast<uint64_t>(facts.st_size);
  return file;
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Status File::ReadExact(uint64_t offset, std::span<std::byte> destination) const {
  const auto read = [this](std::byte* into, size_t bytes, uint64_t from) {
    return ::pread(descriptor_, into, bytes, static_cast<off_t>(from));
  };
  return ReadFully(read, offset, destination, path_);
}

Result<std::string> ReadTextFile(const std::filesystem::path& path, uint64_t max_bytes) {
  COLI_ASSIGN_OR_RETURN(const File file, File::OpenRead(path));
  if (file.size() > max_bytes) {
    return Fail(ErrorCode::kCorrupt, "{}: expected at most {} bytes, found {}", file.path(),
                max_bytes, file.size());
  }
  std::string text(file.size(), '\0');
  COLI_RETURN_IF_ERROR(file.ReadExact(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace coli
