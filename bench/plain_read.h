// For benchmarks: memory in huge pages, and the speed limit that everything is compared with,
// plainly reading it.
#pragma once

#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

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

// A sum over all bytes, so that every one must be read.
#if defined(__x86_64__)
__attribute__((target("avx2"))) inline uint64_t PlainRead(const std::byte* p, size_t bytes) {
  __m256i sum[8] = {};
  for (size_t i = 0; i + 256 <= bytes; i += 256) {
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      sum[k] = _mm256_add_epi64(
          sum[k], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i + 32 * k)));
    }
  }
  for (size_t k = 1; k < 8; ++k) {
    sum[0] = _mm256_add_epi64(sum[0], sum[k]);
  }
  return static_cast<uint64_t>(_mm256_extract_epi64(sum[0], 0) + _mm256_extract_epi64(sum[0], 1) +
                               _mm256_extract_epi64(sum[0], 2) + _mm256_extract_epi64(sum[0], 3));
}
#else
inline uint64_t PlainRead(const std::byte* p, size_t bytes) {
  uint64_t sum[4] = {};
  for (size_t i = 0; i + 32 <= bytes; i += 32) {
    for (size_t k = 0; k < 4; ++k) {
      uint64_t word = 0;
      std::memcpy(&word, p + i + 8 * k, 8);
      sum[k] += word;
    }
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}
#endif

}  // namespace coli
