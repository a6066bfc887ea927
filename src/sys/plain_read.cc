#include "sys/plain_read.h"

#include <chrono>
#include <cstring>

namespace coli {
namespace {

using Words = uint64_t __attribute__((vector_size(32)));

// Compiled once for every CPU and once for those with 256-bit loads. Eight sums: enough loads in
// flight for any core.
[[gnu::always_inline]] inline uint64_t SumOfBlocks(const std::byte* p, size_t bytes) {
  constexpr size_t kSums = 8;
  Words sums[kSums] = {};
  for (size_t i = 0; i + sizeof(sums) <= bytes; i += sizeof(sums)) {
#pragma GCC unroll 8
    for (size_t k = 0; k < kSums; ++k) {
      Words words;
      std::memcpy(&words, p + i + k * sizeof(Words), sizeof(Words));
      sums[k] += words;
    }
  }
  uint64_t sum = 0;
  for (const Words& words : sums) {
    sum += words[0] + words[1] + words[2] + words[3];
  }
  return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) uint64_t SumOfWideBlocks(const std::byte* p, size_t bytes) {
  return SumOfBlocks(p, bytes);
}
#endif

}  // namespace

uint64_t PlainRead(const std::byte* p, size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) {
    return SumOfWideBlocks(p, bytes);
  }
#endif
  return SumOfBlocks(p, bytes);
}

void PoolRead(ThreadPool& pool, std::span<const std::byte> memory) {
  constexpr size_t kPiece = size_t{256} << 10;  // handed to a thread at a time
  pool.ParallelFor(memory.size(), kPiece, [&](size_t from, size_t to, size_t) {
    Keep(PlainRead(memory.data() + from, to - from));
  });
}

double PoolReadSeconds(ThreadPool& pool, std::span<const std::byte> memory) {
  const auto begin = std::chrono::steady_clock::now();
  PoolRead(pool, memory);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace coli
