// Several drives read as one: each read goes where it is expected to end first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sys/io_engine.h"

namespace coli {

// A drive that a read may go to.
struct DriveLoad {
  size_t drive = 0;
  uint64_t waiting_bytes = 0;   // of reads that are on their way
  double bytes_per_second = 1;  // as measured; more than 0
};

// The drive whose `waiting_bytes` and `bytes` more are expected to be read first; of equals the
// first one. `loads` is not empty. Pure.
size_t ChooseDrive(std::span<const DriveLoad> loads, uint64_t bytes);

// A drive with files that requests name, or a mirror, with copies of some of them.
struct Drive {
  std::string name;  // for people
  std::unique_ptr<IoEngine> engine;
  // What is read here, by the file that requests name: that file itself, on a mirror its copy. The
  // files outlive the engine.
  std::map<const File*, const File*> files;
  bool is_mirror = false;
};

// Every file that a request names is on one of the drives; mirrors may have copies. A read that
// fails is repeated from another drive that has the file, as long as there is one. A mirror on
// which a read failed is not asked again; the drives of the files themselves always are. `tell` is
// called with one line for each drive on which reads failed and were repeated, in the thread that
// waits. If all fail, the error is that of the file's own drive.
//
// A mirror on which no read has ended for `patience`, although there are some, is not asked again
// either. What it has begun cannot be taken back: those reads fail with ReadCompletion::hangs.
inline constexpr std::chrono::milliseconds kMirrorPatience{10'000};
std::unique_ptr<IoEngine> MakeDrives(std::vector<Drive> drives,
                                     std::function<void(const std::string&)> tell,
                                     std::chrono::milliseconds patience = kMirrorPatience);

}  // namespace coli
