#include "store/mirror_files.h"

#include <array>
#include <system_error>
#include <utility>

#include "store/safetensors.h"

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

// The copy of `original` at `path`. Error: what differs.
Result<std::unique_ptr<File>> OpenCopy(const std::filesystem::path& path, const File& original) {
  COLI_ASSIGN_OR_RETURN(File file, File::OpenRead(path, DirectReads::kTry));
  auto copy = std::make_unique<File>(std::move(file));
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
      mirror.refused.push_back("model-mirror: not used: " + copy.error().message);
    }
  }
  if (mirror.copies.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "model-mirror: expected copies of files of the model in {}, found none{}",
                directory.string(),
                mirror.refused.empty() ? "" : " that can be used; " + mirror.refused.front());
  }
  return mirror;
}

}  // namespace coli
