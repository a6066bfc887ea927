#include "sys/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace coli {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

std::string Reason(int error) { return std::generic_category().message(error); }

// The directory's entry of a new file lasts only when the directory itself is on the drive.
Status SyncDirectory(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Fail(ErrorCode::kIo, "{}: {}", directory.string(), Reason(errno));
  }
  const int synced = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (synced != 0 && error != EINVAL) {  // EINVAL: this file system has nothing to wait for
    return Fail(ErrorCode::kIo, "{}: {}", directory.string(), Reason(error));
  }
  return Ok();
}

// Gives a file its name, unless there is one of that name.
Status RenameToNew(const std::filesystem::path& from, const std::filesystem::path& to) {
  int failed = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
    // This file system cannot do both at once.
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(to, error))) {
      errno = EEXIST;
    } else {
      failed = ::rename(from.c_str(), to.c_str());
    }
  }
  if (failed != 0) {
    return Fail(ErrorCode::kIo, "{}: cannot rename to {}: {}", from.string(), to.string(),
                Reason(errno));
  }
  return Ok();
}

Status WriteAndName(FileWriter& writer, std::string_view text, const std::filesystem::path& part,
                    const std::filesystem::path& path) {
  COLI_RETURN_IF_ERROR(writer.Append(text));
  COLI_RETURN_IF_ERROR(writer.Finish());
  COLI_RETURN_IF_ERROR(RenameToNew(part, path));
  return SyncDirectory(path.parent_path());
}

}  // namespace

Result<FileWriter> FileWriter::Create(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return Fail(ErrorCode::kIo, "{}: cannot create: {}", path.string(), Reason(errno));
  }
  return FileWriter(descriptor, path.string());
}

FileWriter::FileWriter(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {
  buffer_.reserve(kBufferBytes);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_),
      path_(std::move(other.path_)),
      buffer_(std::move(other.buffer_)) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(written_, other.written_);
  std::swap(path_, other.path_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Status FileWriter::Append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    COLI_RETURN_IF_ERROR(Flush());
  }
  if (bytes.size() >= kBufferBytes) {
    return Write(bytes);
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return Ok();
}

Status FileWriter::Append(std::string_view text) {
  return Append(std::as_bytes(std::span(text.data(), text.size())));
}

Status FileWriter::Skip(uint64_t bytes) {
  COLI_RETURN_IF_ERROR(Flush());
  const auto end = static_cast<off_t>(written_ + bytes);
  if (::ftruncate(descriptor_, end) != 0 || ::lseek(descriptor_, end, SEEK_SET) != end) {
    return Fail(ErrorCode::kIo, "{}: cannot skip {} bytes at byte {}: {}", path_, bytes, written_,
                Reason(errno));
  }
  written_ += bytes;
  return Ok();
}

Status FileWriter::Finish() {
  COLI_RETURN_IF_ERROR(Flush());
  const int failed = ::fsync(descriptor_) != 0 ? errno : 0;
  const int closed = ::close(std::exchange(descriptor_, -1)) != 0 ? errno : 0;
  if (const int error = failed != 0 ? failed : closed; error != 0) {
    return Fail(ErrorCode::kIo, "{}: cannot write: {}", path_, Reason(error));
  }
  return Ok();
}

void FileWriter::Abandon() {
  ::close(std::exchange(descriptor_, -1));
  ::unlink(path_.c_str());
}

Status FileWriter::Flush() {
  COLI_RETURN_IF_ERROR(Write(buffer_));
  buffer_.clear();
  return Ok();
}

Status FileWriter::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) {
      continue;
    }
    if (wrote <= 0) {
      return Fail(ErrorCode::kIo, "{}: cannot write at byte {}: {}", path_, written_,
                  wrote < 0 ? Reason(errno) : "the system took nothing");
    }
    written_ += static_cast<uint64_t>(wrote);
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
  return Ok();
}

Status WriteNewTextFile(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path part = path;
  part += ".part";
  COLI_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(part));
  Status written = WriteAndName(writer, text, part, path);
  if (!written) {
    ::unlink(part.c_str());
  }
  return written;
}

}  // namespace coli
