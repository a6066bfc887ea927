#include "store/mirror_files.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "store/safetensors.h"
#include "sys/file_identity.h"

namespace coli {
namespace {

// Length and header, as they are in the file.
Result<std::vector<std::byte>> HeaderBytes(const File& file) {
  std::array<std::byte, SafetensorsHeader::kLengthBytes> prefix{};
  COLI_RETURN_IF_ERROR(file.ReadExact(0, prefix));
  COLI_ASSIGN_OR_RETURN(const uint64_t length,
                        SafetensorsHeader::Length(prefix, file.size(), file.path()));
  std::vector<std::byte> bytes(prefix.size() + length);
  COLI_RETURN_IF_ERROR(file.ReadExact(0, bytes));
  return bytes;
}

// A copy that was given its size and not all of its bytes lacks the last ones.
Result<std::vector<std::byte>> LastBytes(const File& file) {
  constexpr uint64_t kBytes = 4096;
  std::vector<std::byte> bytes(std::min(file.size(), kBytes));
  COLI_RETURN_IF_ERROR(file.ReadExact(file.size() - bytes.size(), bytes));
  return bytes;
}

// The copy of `original` at `path`. Error: what differs.
Result<std::unique_ptr<File>> OpenCopy(const std::filesystem::path& path, const File& original) {
  COLI_ASSIGN_OR_RETURN(File file, File::OpenRead(path, DirectReads::kTry));
  auto copy = std::make_unique<File>(std::move(file));
  COLI_ASSIGN_OR_RETURN(const FileIdentity itself, IdentityOf(original));
  COLI_ASSIGN_OR_RETURN(const FileIdentity identity, IdentityOf(*copy));
  if (identity == itself) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected a copy of {}, found that file itself",
                copy->path(), original.path());
  }
  if (copy->size() != original.size()) {
    return Fail(ErrorCode::kCorrupt, "{}: expected {} bytes, as {} has, found {}", copy->path(),
                original.size(), original.path(), copy->size());
  }
  COLI_ASSIGN_OR_RETURN(const std::vector<std::byte> expected, HeaderBytes(original));
  COLI_ASSIGN_OR_RETURN(const std::vector<std::byte> found, HeaderBytes(*copy));
  if (found != expected) {
    return Fail(ErrorCode::kCorrupt, "{}: expected the header of {}, found another one",
                copy->path(), original.path());
  }
  COLI_ASSIGN_OR_RETURN(const std::vector<std::byte> expected_end, LastBytes(original));
  COLI_ASSIGN_OR_RETURN(const std::vector<std::byte> end, LastBytes(*copy));
  if (end != expected_end) {
    return Fail(ErrorCode::kCorrupt, "{}: expected the last {} bytes of {}, found others",
                copy->path(), end.size(), original.path());
  }
  return copy;
}

}  // namespace

Result<MirrorFiles> OpenMirror(const std::filesystem::path& directory,
                               std::span<const File* const> originals) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return Fail(ErrorCode::kNotFound, "model-mirror: expected a directory, found none at {}",
                directory.string());
  }
  MirrorFiles mirror{.directory = directory, .files = {}, .copies = {}, .refused = {}};
  for (const File* original : originals) {
    const auto path = directory / std::filesystem::path(original->path()).filename();
    auto copy = OpenCopy(path, *original);
    if (copy) {
      mirror.copies[original] = copy->get();
      mirror.files.push_back(*std::move(copy));
    } else if (copy.error().code != ErrorCode::kNotFound) {
      mirror.refused.push_back(copy.error().message);
    }
  }
  if (mirror.copies.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "model-mirror: expected copies of files of the model in {}, found none{}",
                directory.string(),
                mirror.refused.empty() ? "" : " that can be used: " + mirror.refused.front());
  }
  return mirror;
}

}  // namespace coli
