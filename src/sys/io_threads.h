// Reads by pread in worker threads: works on every file system, needs nothing from the kernel.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "sys/io_engine.h"

namespace coli {

// As pread(2), but minus an errno for a failure; called in many threads.
using DescriptorRead =
    std::function<ssize_t(int descriptor, std::span<std::byte> destination, uint64_t offset)>;
ssize_t ReadDescriptor(int descriptor, std::span<std::byte> destination, uint64_t offset);

struct IoThreadsOptions {
  size_t threads = 4;  // at least 1: so many reads run at once
  bool direct = true;  // past the page cache where that is possible
  DescriptorRead read = ReadDescriptor;
};

std::unique_ptr<IoEngine> MakeIoThreads(IoThreadsOptions options);
inline std::unique_ptr<IoEngine> MakeIoThreads(size_t threads) {
  return MakeIoThreads(IoThreadsOptions{.threads = threads});
}

}  // namespace coli
