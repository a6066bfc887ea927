// A second directory with the bytes of a model's files, or of some of them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/file.h"

namespace coli {

struct MirrorFiles {
  std::filesystem::path directory;
  std::vector<std::unique_ptr<File>> files;
  std::map<const File*, const File*> copies;  // by the model's file
  std::vector<std::string> refused;           // for each file that is no copy: what differs
};

// Accepts a file of `directory` that has name, size, safetensors header and last bytes of one of
// `originals`, which are open files of a Container, and is not that file itself. That the rest is
// the same is taken on trust: comparing it would read all of both. Errors: kNotFound when there is
// no such directory, kInvalidArgument when it holds a copy of none, with what differs in the first
// one.
Result<MirrorFiles> OpenMirror(const std::filesystem::path& directory,
                               std::span<const File* const> originals);

}  // namespace coli
