#include "sys/memory_pressure.h"

#include <gtest/gtest.h>

#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::TempDirectory;
using coli::testing::WriteFile;

TEST(MemoryPressure, IsReadOfTheMachine) {
  const TempDirectory root;
  WriteFile(root / "proc/meminfo", "MemAvailable: 4000 kB\n");
  WriteFile(root / "proc/self/status", "VmRSS: 100 kB\nVmSwap:      12 kB\n");
  WriteFile(root / "proc/pressure/memory",
            "some avg10=1.50 avg60=0.10 avg300=0.00 total=98765\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");

  const MemoryReading reading = ReadMemoryPressure(root.path());

  EXPECT_EQ(reading.available_bytes, 4000U * 1024);
  EXPECT_EQ(reading.swapped_bytes, 12U * 1024);
  EXPECT_EQ(reading.stalled_us, 98'765U);
}

TEST(MemoryPressure, OfTheGroupComesBeforeTheMachines) {
  const TempDirectory root;
  WriteFile(root / "proc/self/cgroup", "1:cpu:/x\n0::/box/inner\n");
  WriteFile(root / "proc/pressure/memory", "some avg10=0 avg60=0 avg300=0 total=1\n");
  WriteFile(root / "sys/fs/cgroup/box/inner/memory.pressure",
            "some avg10=0 avg60=0 avg300=0 total=22\n");

  EXPECT_EQ(ReadMemoryPressure(root.path()).stalled_us, 22U);
}

TEST(MemoryPressure, WhatTheSystemDoesNotTellIsNotKnown) {
  const TempDirectory root;
  WriteFile(root / "proc/pressure/memory", "some total=\nnonsense\n");

  const MemoryReading reading = ReadMemoryPressure(root.path());

  EXPECT_EQ(reading.available_bytes, 0U);
  EXPECT_FALSE(reading.stalled_us);
  EXPECT_EQ(reading.swapped_bytes, 0U);
}

TEST(MemoryPressure, OfThisProcessGrowsNowhere) {
  const MemoryReading first = ReadMemoryPressure();
  const MemoryReading second = ReadMemoryPressure();

  EXPECT_GT(first.available_bytes, 0U);
  EXPECT_GE(second.major_faults, first.major_faults);
}

}  // namespace
}  // namespace coli
