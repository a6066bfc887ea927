// The speed limit of everything that streams weights: plainly reading the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sys/thread_pool.h"

namespace coli {

// A sum over all bytes but the last few (less than 256), so that every one must be read. As fast as
// this CPU can: with 256-bit loads where it has them.
uint64_t PlainRead(const std::byte* p, size_t bytes);

// Plainly reads `memory` in the threads of `pool`.
void PoolRead(ThreadPool& pool, std::span<const std::byte> memory);
// The same; seconds on the wall.
double PoolReadSeconds(ThreadPool& pool, std::span<const std::byte> memory);

// Makes the compiler believe that `value` is used.
template <class T>
void Keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace coli
