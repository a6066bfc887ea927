// For benchmarks: memory in huge pages, and the speed limit that everything is compared with,
// plainly reading it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

#include "measure/plain_read.h"

namespace coli {

inline constexpr size_t kHugePage = size_t{2} << 20;

struct Unmap {
  size_t bytes = 0;
  void operator()(std::byte* p) const { ::munmap(p, bytes); }
};
using Mapping = std::unique_ptr<std::byte[], Unmap>;

inline Mapping MapHuge(size_t bytes) {
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    throw std::bad_alloc();
  }
  ::madvise(p, bytes, MADV_HUGEPAGE);
  return Mapping(static_cast<std::byte*>(p), Unmap{bytes});
}

}  // namespace coli
