#include "sys/memory_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "sys/aligned_buffer.h"
#include "sys/left_behind.h"

namespace coli {
namespace {

using ::testing::HasSubstr;

uint64_t LockedKib() {
  std::ifstream stream("/proc/self/status");
  for (std::string word; stream >> word;) {
    uint64_t kib = 0;
    if (word == "VmLck:" && stream >> kib) {
      return kib;
    }
  }
  return 0;
}

TEST(LockMemory, LocksWhatTheLimitAllowsAndUnlocksWithTheMemory) {
  if (COLI_ADDRESS_SANITIZER) {
    GTEST_SKIP() << "AddressSanitizer makes mlock do nothing";
  }
  const uint64_t before = LockedKib();
  {
    auto buffer = AlignedBuffer::Allocate(4 << 20);
    ASSERT_TRUE(buffer);
    const Status locked = LockMemory(buffer->bytes());
    if (!locked) {
      GTEST_SKIP() << locked.error().message;
    }
    EXPECT_GE(LockedKib(), before + 4096);
  }
  EXPECT_EQ(LockedKib(), before);
}

TEST(LockMemory, NothingIsLockedAtOnce) { EXPECT_TRUE(LockMemory({})); }

TEST(LockMemory, ARefusalNamesTheLimit) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "the limit does not hold for the superuser";
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &none), 0);
  const auto buffer = AlignedBuffer::Allocate(4 << 20);
  const Status locked = LockMemory(buffer->bytes());
  ::setrlimit(RLIMIT_MEMLOCK, &before);

  ASSERT_FALSE(locked);
  EXPECT_THAT(locked.error().message, HasSubstr("the limit is 0 KiB"));
}

}  // namespace
}  // namespace coli
