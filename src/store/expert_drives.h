// The drives that a model's experts are read from: those that its files lie on, one or several, and
// mirrors, which have copies. Engine thread only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/mirror_files.h"
#include "sys/drives.h"
#include "sys/open_io.h"

namespace coli {

class ExpertDrives {
 public:
  // Opens an engine for each drive that some of `files` lie on, which outlive this, and for each
  // drive with copies in a directory of `mirrors`. Errors: as OpenIo; as OpenMirror; a directory
  // that is named twice.
  static Result<std::unique_ptr<ExpertDrives>> Open(const IoSettings& settings,
                                                    std::span<const File* const> files,
                                                    std::span<const std::filesystem::path> mirrors);
  ExpertDrives(const ExpertDrives&) = delete;
  ExpertDrives& operator=(const ExpertDrives&) = delete;

  // What reads them all, once. It must end before this does.
  std::unique_ptr<IoEngine> TakeEngine();

  // The functions below need the engine to be alive.
  // How they are read, for people: as DescribeIo, or "2 drives: /a (io_uring, direct, depth 8), /b
  // with copies of 3 of 5 files (io_uring, direct, depth 16)".
  std::string Describe() const;
  size_t drives() const { return opened_.size(); }
  uint64_t bytes_read(size_t drive) const { return opened_[drive].engine->stats().bytes; }

  // What is not as it might be, since the last call: files that are no copies, drives that failed.
  std::vector<std::string> TakeNotices() { return std::exchange(notices_, {}); }

 private:
  // Files that are read instead of others or of themselves.
  using FileMap = std::map<const File*, const File*>;

  struct Opened {
    std::string name;  // its directory, and what it has copies of
    const IoEngine* engine;
    IoMode mode;
    std::vector<const File*> files;
  };

  ExpertDrives() = default;
  Status AddMirror(const IoSettings& settings, std::span<const File* const> files,
                   const std::filesystem::path& directory);
  Status AddDrives(const IoSettings& settings, const FileMap& files, const std::string& kind);
  Status AddDrive(const IoSettings& settings, FileMap files, const std::string& kind);

  std::vector<MirrorFiles> mirrors_;
  std::vector<Drive> untaken_;
  std::vector<Opened> opened_;
  std::vector<std::string> notices_;
};

}  // namespace coli
