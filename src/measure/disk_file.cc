#include "measure/disk_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "measure/weight_set.h"
#include "sys/aligned_buffer.h"
#include "sys/file_read.h"
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

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  int number() const { return number_; }

 private:
  int number_;
};

Status Write(const Descriptor& file, uint64_t bytes, std::string_view path,
             const std::function<bool()>& cancelled) {
  constexpr size_t kPiece = size_t{8} << 20;
  COLI_ASSIGN_OR_RETURN(const AlignedBuffer buffer, AlignedBuffer::Allocate(kPiece));
  FillWithCodes(buffer.bytes());
  for (uint64_t done = 0; done < bytes;) {
    if (cancelled && cancelled()) {
      return Fail(ErrorCode::kCancelled, "{}: cancelled", path);
    }
    const ssize_t written =
        ::pwrite(file.number(), buffer.data(), std::min<uint64_t>(kPiece, bytes - done),
                 static_cast<off_t>(done));
    if (written < 0 && errno != EINTR) {
      return SystemError(path, fmt::format("cannot write at byte {}", done));
    }
    done += written > 0 ? static_cast<uint64_t>(written) : 0;
  }
  return ::fsync(file.number()) == 0 ? Ok() : SystemError(path, "cannot write");
}

}  // namespace

Result<DiskFile> DiskFile::Open(const std::filesystem::path& path) {
  COLI_ASSIGN_OR_RETURN(File file, File::OpenRead(path, DirectReads::kTry));
  TryDirectRead(file);
  return DiskFile(std::move(file), path.string());
}

Result<DiskFile> DiskFile::MakeTemporary(const std::filesystem::path& directory, uint64_t bytes,
                                         const std::function<bool()>& cancelled) {
  COLI_RETURN_IF_ERROR(CheckRoom(directory, bytes));
  const Descriptor nameless(OpenNameless(directory));
  if (nameless.number() < 0) {
    return SystemError(directory.string(),
                       "cannot write a file to read (--dir names another directory)");
  }
  COLI_RETURN_IF_ERROR(Write(nameless, bytes, directory.string(), cancelled));
  COLI_ASSIGN_OR_RETURN(DiskFile file, Open(fmt::format("/proc/self/fd/{}", nameless.number())));
  file.path_ = directory.string();
  return file;
}

Status DiskFile::Read(uint64_t offset, std::span<std::byte> destination) const {
  const int descriptor = file_.direct() ? file_.direct_descriptor() : file_.descriptor();
  return ReadFully(
      [descriptor](std::byte* to, size_t bytes, uint64_t from) {
        return ::pread(descriptor, to, bytes, static_cast<off_t>(from));
      },
      offset, destination, path_);
}

void DiskFile::DropPages() const {
  ::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_DONTNEED);  // advice only
}

Status DropPageCache(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") {
      COLI_ASSIGN_OR_RETURN(const DiskFile file, DiskFile::Open(entry->path()));
      file.DropPages();
    }
  }
  if (error) {
    return Fail(ErrorCode::kIo, "{}: cannot be listed: {}", directory.string(), error.message());
  }
  return Ok();
}

}  // namespace coli
