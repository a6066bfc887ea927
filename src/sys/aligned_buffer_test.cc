#include "sys/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>

#include "sys/memory_meter.h"

namespace coli {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(AlignedBuffer, EverySizeIsAlignedAndWritable) {
  for (const size_t bytes :
       {size_t{1}, size_t{4095}, size_t{4096}, 2 * kMiB - 1, 2 * kMiB, 5 * kMiB + 3}) {
    const auto buffer = AlignedBuffer::Allocate(bytes);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % AlignedBuffer::kAlignment, 0U);
    std::memset(buffer->data(), 0x5A, bytes);
  }
}

TEST(AlignedBuffer, NothingIsABufferToo) {
  const auto buffer = AlignedBuffer::Allocate(0);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->size(), 0U);
  EXPECT_EQ(buffer->data(), nullptr);
}

TEST(AlignedBuffer, MoreThanTheSystemHasIsAnError) {
  for (const size_t bytes : {std::numeric_limits<size_t>::max(),
                             std::numeric_limits<size_t>::max() / 4, size_t{1} << 60}) {
    const auto buffer = AlignedBuffer::Allocate(bytes);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ErrorCode::kNotEnoughMemory);
  }
}

TEST(AlignedBuffer, PagesAreTakenWhenTouchedAndGivenBack) {
  const uint64_t before = ReadMemoryUse().anonymous_bytes;
  {
    const auto buffer = AlignedBuffer::Allocate(64 * kMiB);
    EXPECT_LT(ReadMemoryUse().anonymous_bytes, before + 16 * kMiB);
    std::memset(buffer->data(), 1, buffer->size());
    EXPECT_GT(ReadMemoryUse().anonymous_bytes, before + 48 * kMiB);
  }
  EXPECT_LT(ReadMemoryUse().anonymous_bytes, before + 16 * kMiB);
}

TEST(AlignedBuffer, MovingMovesTheBlock) {
  AlignedBuffer a = AlignedBuffer::Allocate(100).value();
  AlignedBuffer b = AlignedBuffer::Allocate(3 * kMiB).value();
  std::byte* const data = a.data();

  b = std::move(a);

  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 100U);
}

}  // namespace
}  // namespace coli
