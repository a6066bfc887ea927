#include "measure/disk_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "measure/weight_set.h"
#include "sys/aligned_buffer.h"
#include "sys/read_loop.h"

namespace coli {
namespace {

tl::unexpected<Error> SystemError(std::string_view path, std::string_view what) {
  return Fail(ErrorCode::kIo, "{}: {}: {}", path, what, SystemErrorText(errno));
}

// Room that the file of a measurement must leave on the drive.
constexpr uint64_t kReserveBytes = uint64_t{256} << 20;

Status CheckRoom(const std::filesystem::path& directory, uint64_t bytes) {
  struct statvfs facts{};
  if (::statvfs(directory.c_str(), &facts) != 0) {
    return SystemError(directory.string(), "cannot tell how much room there is");
  }
  const uint64_t room = uint64_t{facts.f_bavail} * facts.f_frsize;
  if (room < bytes + kReserveBytes) {
    return Fail(ErrorCode::kIo, "{}: a file to read: expected {} bytes of room, found {}",
                directory.string(), bytes + kReserveBytes, room);
  }
  return Ok();
}

// Unlinked at once where the file system cannot make a file without a name.
int OpenNameless(const std::filesystem::path& directory) {
#ifdef O_TMPFILE
  const int nameless = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) {
    return nameless;
  }
#endif
  std::string name = (directory / "coli-bench-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) {
    ::unlink(name.c_str());
  }
  return named;
}

}  // namespace

DiskFile::DiskFile(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {}

DiskFile::DiskFile(DiskFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_),
      direct_(other.direct_) {}

DiskFile& DiskFile::operator=(DiskFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(direct_, other.direct_);
  return *this;
}

DiskFile::~DiskFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<DiskFile> DiskFile::Open(const std::filesystem::path& path) {
  DiskFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), path.string());
  if (file.descriptor_ < 0) {
    return SystemError(file.path_, "cannot open");
  }
  COLI_RETURN_IF_ERROR(file.Measure());
  file.GoDirect();
  return file;
}

Result<DiskFile> DiskFile::MakeTemporary(const std::filesystem::path& directory, uint64_t bytes,
                                         const std::function<bool()>& cancelled) {
  COLI_RETURN_IF_ERROR(CheckRoom(directory, bytes));
  DiskFile file(OpenNameless(directory), directory.string());
  if (file.descriptor_ < 0) {
    return SystemError(file.path_, "cannot write a file to read (--dir names another directory)");
  }
  COLI_RETURN_IF_ERROR(file.Write(bytes, cancelled));
  COLI_RETURN_IF_ERROR(file.Measure());
  file.GoDirect();
  return file;
}

Status DiskFile::Write(uint64_t bytes, const std::function<bool()>& cancelled) {
  constexpr size_t kPiece = size_t{8} << 20;
  COLI_ASSIGN_OR_RETURN(const AlignedBuffer buffer, AlignedBuffer::Allocate(kPiece));
  FillWithCodes(buffer.bytes());
  for (uint64_t done = 0; done < bytes;) {
    if (cancelled && cancelled()) {
      return Fail(ErrorCode::kCancelled, "{}: cancelled", path_);
    }
    const ssize_t written =
        ::pwrite(descriptor_, buffer.data(), std::min<uint64_t>(kPiece, bytes - done),
                 static_cast<off_t>(done));
    if (written < 0 && errno != EINTR) {
      return SystemError(path_, fmt::format("cannot write at byte {}", done));
    }
    done += written > 0 ? static_cast<uint64_t>(written) : 0;
  }
  if (::fsync(descriptor_) != 0) {
    return SystemError(path_, "cannot write");
  }
  return Ok();
}

Status DiskFile::Measure() {
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0) {
    return SystemError(path_, "cannot tell its size");
  }
  if (!S_ISREG(facts.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: not a regular file", path_);
  }
  size_ = static_cast<uint64_t>(facts.st_size);
  return Ok();
}

void DiskFile::GoDirect() {
#ifdef O_DIRECT
  struct statfs facts{};
  if (::fstatfs(descriptor_, &facts) == 0 && facts.f_type == TMPFS_MAGIC) {
    return;  // it takes the flag, but it is the page cache
  }
  const int flags = ::fcntl(descriptor_, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor_, F_SETFL, flags | O_DIRECT) != 0) {
    return;
  }
  // Some file systems take the flag and refuse the reads.
  const auto buffer = AlignedBuffer::Allocate(kAlignment);
  direct_ = buffer && size_ >= kAlignment && Read(0, buffer->bytes()).has_value();
  if (!direct_) {
    ::fcntl(descriptor_, F_SETFL, flags);
  }
#endif
}

Status DiskFile::Read(uint64_t offset, std::span<std::byte> destination) const {
  return ReadFully(
      [this](std::byte* to, size_t bytes, uint64_t from) {
        return ::pread(descriptor_, to, bytes, static_cast<off_t>(from));
      },
      offset, destination, path_);
}

void DiskFile::DropPages() const {
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);  // advice only
}

}  // namespace coli
