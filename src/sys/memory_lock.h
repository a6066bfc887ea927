// Keeps memory from being swapped or dropped.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace coli {

// Locks the pages of `bytes` into memory until they are given back to the system. Error: kIo with
// the system's reason and, where that is what refused, the limit (RLIMIT_MEMLOCK).
Status LockMemory(std::span<const std::byte> bytes);

}  // namespace coli
