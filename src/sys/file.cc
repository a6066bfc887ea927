#include "sys/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "sys/read_loop.h"

namespace coli {
namespace {

int OpenRetrying(const std::string& path, int flags) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
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

bool InMemory(int descriptor) {
  struct statfs facts{};
  return ::fstatfs(descriptor, &facts) == 0 &&
         (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC);
}

bool IsSameFile(int a, int b) {
  struct stat facts_a{};
  struct stat facts_b{};
  return ::fstat(a, &facts_a) == 0 && ::fstat(b, &facts_b) == 0 &&
         facts_a.st_dev == facts_b.st_dev && facts_a.st_ino == facts_b.st_ino;
}

}  // namespace

File::File(int descriptor, uint64_t size, std::string path)
    : descriptor_(descriptor), size_(size), path_(std::move(path)) {}

Result<File> File::OpenRead(const std::filesystem::path& path, DirectReads direct) {
  // O_NONBLOCK: opening a FIFO without a writer must not wait.
  const int descriptor = OpenRetrying(path.string(), O_NONBLOCK);
  if (descriptor < 0) {
    return OpenError(path.string(), errno);
  }
  File file(descriptor, 0, path.string());
  COLI_RETURN_IF_ERROR(file.Measure());
  // With the flag, an asynchronous read of a file system that must wait fails instead.
  ::fcntl(descriptor, F_SETFL, 0);
  if (direct == DirectReads::kTry) {
    file.OpenDirect();
  }
  return file;
}

Status File::Measure() {
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0) {
    return Fail(ErrorCode::kIo, "{}: its size cannot be read: {}", path_, SystemErrorText(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected a regular file, found {}", path_,
                KindOf(facts.st_mode));
  }
  size_ = static_cast<uint64_t>(facts.st_size);
  return Ok();
}

void File::OpenDirect() {
#ifdef STATX_DIOALIGN
  struct statx facts{};
  if (::statx(descriptor_, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
      (facts.stx_mask & STATX_DIOALIGN) != 0) {
    alignment_ = {facts.stx_dio_mem_align, facts.stx_dio_offset_align};
    if (alignment_.memory == 0 || alignment_.offset == 0) {
      why_not_direct_ = "the file system says that it cannot";
      return;
    }
  }
#endif
#ifdef O_DIRECT
  if (InMemory(descriptor_)) {
    why_not_direct_ = "the file system is in memory";
    return;
  }
  direct_descriptor_ = OpenRetrying(path_, O_DIRECT);
  if (direct_descriptor_ < 0) {
    why_not_direct_ = SystemErrorText(errno);
  } else if (!IsSameFile(descriptor_, direct_descriptor_)) {
    ::close(std::exchange(direct_descriptor_, -1));
    why_not_direct_ = "the file was replaced while it was opened";
  }
#else
  why_not_direct_ = "the system has no such reads";
#endif
}

bool File::direct() const { return direct_descriptor_ >= 0 && direct_refusal_ == 0; }

std::string File::why_not_direct() const {
  if (direct_descriptor_ < 0) {
    return why_not_direct_;
  }
  const int refusal = direct_refusal_;
  return refusal == 0 ? "" : SystemErrorText(refusal);
}

bool File::SuitsDirect(uint64_t offset, std::span<const std::byte> destination) const {
  return direct() && offset % alignment_.offset == 0 &&
         destination.size() % alignment_.offset == 0 &&
         reinterpret_cast<uintptr_t>(destination.data()) % alignment_.memory == 0;
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)),
      direct_descriptor_(std::exchange(other.direct_descriptor_, -1)),
      alignment_(other.alignment_),
      why_not_direct_(std::move(other.why_not_direct_)),
      direct_refusal_(other.direct_refusal_.load()) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(direct_descriptor_, other.direct_descriptor_);
  std::swap(alignment_, other.alignment_);
  std::swap(why_not_direct_, other.why_not_direct_);
  direct_refusal_ = other.direct_refusal_.exchange(direct_refusal_);
  return *this;
}

File::~File() {
  for (const int descriptor : {descriptor_, direct_descriptor_}) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
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
