#include "store/expert_drives.h"

#include <algorithm>
#include <system_error>

#include "base/check.h"
#include "sys/file_identity.h"

namespace coli {
namespace {

namespace fs = std::filesystem;

// The directory that a file really lies in.
std::string DirectoryOf(const File& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file.path(), error);
  return (error ? fs::path(file.path()) : real).parent_path().string();
}

Status CheckDistinct(std::span<const fs::path> directories) {
  for (size_t i = 0; i < directories.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      std::error_code ignored;  // what is not there is found out later
      if (fs::equivalent(directories[i], directories[j], ignored)) {
        return Fail(ErrorCode::kInvalidArgument,
                    "model-mirror: expected different directories, found {} and {}, which are the "
                    "same",
                    directories[j].string(), directories[i].string());
      }
    }
  }
  return Ok();
}

// The drives of the files that requests name and of those that are read for them.
Result<bool> ShareADrive(const std::map<const File*, const File*>& copies) {
  for (const auto& [original, copy] : copies) {
    COLI_ASSIGN_OR_RETURN(const FileIdentity one, IdentityOf(*original));
    COLI_ASSIGN_OR_RETURN(const FileIdentity other, IdentityOf(*copy));
    if (one.drive == other.drive) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<ExpertDrives>> ExpertDrives::Open(const IoSettings& settings,
                                                         std::span<const File* const> files,
                                                         std::span<const fs::path> mirrors) {
  if (files.empty() && !mirrors.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "model-mirror: cannot act: the model has no experts to read from {}",
                mirrors.front().string());
  }
  COLI_RETURN_IF_ERROR(CheckDistinct(mirrors));
  std::unique_ptr<ExpertDrives> drives(new ExpertDrives);
  FileMap own;
  for (const File* file : files) {
    own[file] = file;
  }
  COLI_RETURN_IF_ERROR(drives->AddDrives(settings, own, ""));
  for (const fs::path& directory : mirrors) {
    COLI_RETURN_IF_ERROR(drives->AddMirror(settings, files, directory));
  }
  return drives;
}

Status ExpertDrives::AddMirror(const IoSettings& settings, std::span<const File* const> files,
                               const fs::path& directory) {
  COLI_ASSIGN_OR_RETURN(MirrorFiles mirror, OpenMirror(directory, files));
  if (!mirror.refused.empty()) {
    notices_.push_back(fmt::format(
        "model-mirror: {} of {} files in {} are not used: {}", mirror.refused.size(),
        mirror.refused.size() + mirror.copies.size(), directory.string(), mirror.refused.front()));
  }
  COLI_ASSIGN_OR_RETURN(const bool shared, ShareADrive(mirror.copies));
  if (shared) {
    notices_.push_back(fmt::format(
        "model-mirror: {} is on a drive of the model's own: reading both is hardly faster",
        directory.string()));
  }
  const std::string kind =
      mirror.copies.size() == files.size()
          ? " with copies"
          : fmt::format(" with copies of {} of {} files", mirror.copies.size(), files.size());
  mirrors_.push_back(std::move(mirror));
  return AddDrives(settings, mirrors_.back().copies, kind);
}

// An engine for each of the drives that the files to read lie on, so that reads of a slow one do
// not stand in the way of those of a fast one. A model without experts has one that is never used.
Status ExpertDrives::AddDrives(const IoSettings& settings, const FileMap& files,
                               const std::string& kind) {
  if (files.empty()) {
    return AddDrive(settings, {}, kind);
  }
  std::map<uint64_t, FileMap> by_drive;
  for (const auto& [named, read] : files) {
    COLI_ASSIGN_OR_RETURN(const FileIdentity identity, IdentityOf(*read));
    by_drive[identity.drive][named] = read;
  }
  for (const auto& [drive, of_drive] : by_drive) {
    COLI_RETURN_IF_ERROR(AddDrive(settings, of_drive, kind));
  }
  return Ok();
}

Status ExpertDrives::AddDrive(const IoSettings& settings, FileMap files, const std::string& kind) {
  std::vector<const File*> read;
  for (const auto& [named, file] : files) {
    read.push_back(file);
  }
  std::ranges::sort(read, {}, &File::path);
  const std::string directory = read.empty() ? "" : DirectoryOf(*read.front());
  COLI_ASSIGN_OR_RETURN(OpenedIo io, OpenIo(settings, read));
  opened_.push_back({directory + kind, io.engine.get(), std::move(io.mode), std::move(read)});
  untaken_.push_back({.name = directory,
                      .engine = std::move(io.engine),
                      .files = std::move(files),
                      .is_mirror = !kind.empty()});
  return Ok();
}

std::unique_ptr<IoEngine> ExpertDrives::TakeEngine() {
  COLI_CHECK(!untaken_.empty());
  std::vector<Drive> drives = std::exchange(untaken_, {});
  if (drives.size() == 1) {
    return std::move(drives.front().engine);
  }
  return MakeDrives(std::move(drives),
                    [this](const std::string& line) { notices_.push_back(line); });
}

std::string ExpertDrives::Describe() const {
  const auto describe = [](const Opened& drive) {
    return DescribeIo(*drive.engine, drive.mode, drive.files);
  };
  if (opened_.size() == 1) {
    return describe(opened_.front());
  }
  std::string text;
  for (const Opened& drive : opened_) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", drive.name, describe(drive));
  }
  return fmt::format("{} drives: {}", opened_.size(), text);
}

}  // namespace coli
