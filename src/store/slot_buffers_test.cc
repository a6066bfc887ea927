#include "store/slot_buffers.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <utility>

namespace coli {
namespace {

constexpr size_t kAny = std::numeric_limits<size_t>::max();

TEST(SlotBuffers, BuffersFitTheBudgetByWhatEachTakes) {
  SlotBuffers buffers(10 * 4096, kAny);
  auto wide = buffers.Take(4 * 4096).value();
  auto a = buffers.Take(3 * 4096).value();
  auto b = buffers.Take(3 * 4096).value();
  ASSERT_TRUE(wide && a && b);
  EXPECT_EQ(buffers.held_bytes(), 10U * 4096);
  EXPECT_FALSE(*buffers.Take(1));

  buffers.GiveBack(*std::move(a));
  EXPECT_TRUE(*buffers.Take(2 * 4096));
}

TEST(SlotBuffers, ABufferIsRecycledForTheSameSize) {
  SlotBuffers buffers(2 * 4096, kAny);
  AlignedBuffer buffer = *buffers.Take(5000).value();
  std::byte* const data = buffer.data();
  buffers.GiveBack(std::move(buffer));

  EXPECT_EQ((*buffers.Take(5000).value()).data(), data);
}

TEST(SlotBuffers, KeptBuffersOfOtherSizesAreGivenUpForRoom) {
  SlotBuffers buffers(4 * 4096, kAny);
  AlignedBuffer a = *buffers.Take(4096).value();
  AlignedBuffer b = *buffers.Take(2 * 4096).value();
  buffers.GiveBack(std::move(a));
  buffers.GiveBack(std::move(b));
  EXPECT_EQ(buffers.held_bytes(), 3U * 4096);

  EXPECT_TRUE(*buffers.Take(4 * 4096));
  EXPECT_EQ(buffers.held_bytes(), 4U * 4096);
}

TEST(SlotBuffers, TheNumberOfBuffersIsBounded) {
  SlotBuffers buffers(1 << 20, 2);
  auto a = buffers.Take(100).value();
  auto b = buffers.Take(200).value();
  EXPECT_FALSE(*buffers.Take(300));

  buffers.GiveBack(*std::move(a));
  EXPECT_TRUE(*buffers.Take(300));
}

TEST(SlotBuffers, MoreThanTheBudgetNeverFits) {
  SlotBuffers buffers(4096, kAny);
  EXPECT_FALSE(*buffers.Take(4097));
  EXPECT_FALSE(*buffers.Take(uint64_t{1} << 62));
}

TEST(SlotBuffers, WhatTheSystemLacksIsAnError) {
  SlotBuffers buffers(uint64_t{1} << 62, kAny);

  const auto buffer = buffers.Take(uint64_t{1} << 61);

  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::kNotEnoughMemory);
  EXPECT_EQ(buffers.held_bytes(), 0U);
}

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST(SlotBuffers, BytesThatNobodyMayReadAnyMoreAreOverwritten) {
  SlotBuffers buffers(1 << 20, kAny);
  AlignedBuffer buffer = *buffers.Take(5000).value();
  buffer.bytes()[4999] = std::byte{1};
  const std::span<const std::byte> stale = buffer.bytes();

  buffers.GiveBack(std::move(buffer));

  EXPECT_EQ(stale[4999], std::byte{0xA5});
}
#endif

TEST(SlotBuffers, ALostBufferMakesRoomForAnother) {
  SlotBuffers buffers(SlotBuffers::Cost(4096), 1);
  auto first = buffers.Take(4096).value();
  ASSERT_TRUE(first);
  EXPECT_FALSE(buffers.Take(4096).value());

  const AlignedBuffer lost = buffers.Lose(*std::move(first));

  EXPECT_EQ(lost.size(), 4096U);
  EXPECT_EQ(buffers.held_bytes(), 0U);
  EXPECT_TRUE(buffers.Take(4096).value());
}

}  // namespace
}  // namespace coli
