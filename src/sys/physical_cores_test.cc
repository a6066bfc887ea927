#include "sys/physical_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstddef>
#include <thread>

namespace coli {
namespace {

TEST(PhysicalCores, RespectsWhereTheThreadMayRun) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_GE(PhysicalCores().count(), 1U);
  EXPECT_LE(PhysicalCores().count(), static_cast<size_t>(CPU_COUNT(&before)));
  int first = 0;
  while (!CPU_ISSET(static_cast<size_t>(first), &before)) {
    ++first;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(first), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);

  EXPECT_EQ(PhysicalCores().count(), 1U);

  ::sched_setaffinity(0, sizeof(before), &before);
}

TEST(PhysicalCores, BoundThreadStaysOnTheHardwareThreadsOfItsCore) {
  const PhysicalCores cores;
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (size_t core = 0; core < cores.count(); ++core) {
    std::thread([&] {
      cpu_set_t before;
      ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
      const bool bound = cores.BindThisThread(core);
      cpu_set_t after;
      ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
      if (!bound) {
        EXPECT_TRUE(CPU_EQUAL(&before, &after));
        return;
      }
      cpu_set_t both;
      CPU_AND(&both, &before, &after);
      EXPECT_TRUE(CPU_EQUAL(&both, &after));
      CPU_AND(&both, &taken, &after);
      EXPECT_EQ(CPU_COUNT(&both), 0) << "core " << core;
      CPU_OR(&taken, &taken, &after);
    }).join();
  }
}

}  // namespace
}  // namespace coli
