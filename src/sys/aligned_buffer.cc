#include "sys/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "base/checked_math.h"

namespace coli {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Blocks from this size on do not come from the heap, which keeps what is freed when the sizes of
// blocks vary: experts of two sizes that take turns would make it grow.
constexpr size_t kMapped = size_t{128} << 10;

bool IsMapped(size_t bytes) { return bytes >= kMapped; }

size_t PageRounded(size_t bytes) { return AlignUp(bytes, AlignedBuffer::kAlignment); }

std::byte* MapBytes(size_t bytes) {
  void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : static_cast<std::byte*>(block);
}

// A mapping that starts at a huge page, so that the system can back all of it but the tail with
// huge pages: a larger mapping is made and what is too much at both ends given back.
std::byte* MapHuge(size_t bytes) {
  const size_t reserved = bytes + kHugePage;
  std::byte* start = MapBytes(reserved);
  if (start == nullptr) {
    return nullptr;
  }
  const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  if (head != 0) {
    ::munmap(start, head);
  }
  ::munmap(start + head + bytes, reserved - head - bytes);
  ::madvise(start + head, bytes, MADV_HUGEPAGE);  // advice only: without it the pages are small
  return start + head;
}

void Free(std::byte* data, size_t size) {
  if (data == nullptr) {
    return;
  }
  if (IsMapped(size)) {
    ::munmap(data, PageRounded(size));
  } else {
    std::free(data);
  }
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::Allocate(size_t bytes) {
  if (bytes == 0) {
    return AlignedBuffer();
  }
  std::byte* data = nullptr;
  if (bytes <= std::numeric_limits<size_t>::max() / 4) {
    data = bytes >= kHugePage ? MapHuge(PageRounded(bytes))
           : IsMapped(bytes)
               ? MapBytes(PageRounded(bytes))
               : static_cast<std::byte*>(std::aligned_alloc(kAlignment, PageRounded(bytes)));
  }
  if (data == nullptr) {
    return Fail(ErrorCode::kNotEnoughMemory, "the system has no block of {} bytes", bytes);
  }
  return AlignedBuffer(data, bytes);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() { Free(data_, size_); }

}  // namespace coli
