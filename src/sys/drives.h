// Several drives with the same bytes, read as one: each read goes where it is expected to end
// first.
#pragma once

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

// A drive with copies of some or all files of the first one.
struct Mirror {
  std::string name;  // for people
  std::unique_ptr<IoEngine> engine;
  std::map<const File*, const File*> copies;  // by the file of the first drive; outlive the engine
};

// Requests name files of the first drive, which `first` reads. A read that fails on a mirror is
// repeated from the first drive, and the mirror is not asked again: `dropped` is called with a line
// that says why, in the thread that waits.
std::unique_ptr<IoEngine> MakeDrives(std::unique_ptr<IoEngine> first, std::vector<Mirror> mirrors,
                                     std::function<void(const std::string&)> dropped);

}  // namespace coli
