// For tests: `count` values that end exactly where an unreadable page begins, so that any access
// past the end faults, whatever the build.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <span>

namespace coli::testing {

template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t count) : count_(count) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t body = (count * sizeof(T) + page - 1) / page * page;
    mapped_bytes_ = body + page;
    base_ =
        ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) {
      throw std::bad_alloc();
    }
    ::mprotect(static_cast<std::byte*>(base_) + body, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(static_cast<std::byte*>(base_) + body - count * sizeof(T));
  }
  ~GuardedBuffer() { ::munmap(base_, mapped_bytes_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  T* data() const { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) const { return data_[i]; }
  std::span<T> span() const { return {data_, count_}; }

 private:
  size_t count_;
  size_t mapped_bytes_ = 0;
  void* base_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace coli::testing
