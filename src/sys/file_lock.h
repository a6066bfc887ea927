// A file that processes lock, to agree on other files. The lock ends with its holder, however that
// ends. Move-only.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace coli {

class FileLock {
 public:
  // How long to wait for somebody who has the lock alone.
  static constexpr int kPatience_ms = 1000;

  // Opens or makes the file, for its owner alone, and locks it together with others that share it.
  // Errors: kIo, also when waiting was in vain.
  static Result<FileLock> Share(const std::filesystem::path& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  // True: nobody else has the lock now, and nobody gets it before this object is gone. False:
  // somebody has, and it is shared as before.
  bool TakeAlone();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace coli
