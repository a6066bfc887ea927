#include "sys/memory_meter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "sys/aligned_buffer.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::TempDirectory;
using coli::testing::WriteFile;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MemoryMeter, MappedFilePagesAreNotAnonymousMemory) {
  const TempDirectory directory;
  WriteFile(directory / "f", std::string(64 * kMiB, 'x'));
  const int descriptor = ::open((directory / "f").c_str(), O_RDONLY | O_CLOEXEC);
  const MemoryUse before = ReadMemoryUse();

  void* mapped = ::mmap(nullptr, 64 * kMiB, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const MemoryUse with_file = ReadMemoryUse();
  const auto buffer = AlignedBuffer::Allocate(64 * kMiB);
  std::memset(buffer->data(), 1, buffer->size());
  const MemoryUse with_memory = ReadMemoryUse();
  ::munmap(mapped, 64 * kMiB);
  ::close(descriptor);

  EXPECT_GT(with_file.resident_bytes, before.resident_bytes + 48 * kMiB);
  EXPECT_LT(with_file.anonymous_bytes, before.anonymous_bytes + 4 * kMiB);
  EXPECT_GT(with_memory.anonymous_bytes, with_file.anonymous_bytes + 60 * kMiB);
  EXPECT_GE(with_memory.peak_bytes, with_memory.resident_bytes);
}

TEST(AvailableMemory, IsSomethingHere) { EXPECT_GT(AvailableMemoryBytes(), kMiB); }

TEST(AvailableMemory, OfAMachineWithoutGroupsIsWhatTheKernelSays) {
  const TempDirectory root;
  WriteFile(root / "proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    4000 kB\n");

  EXPECT_EQ(AvailableMemoryBytes(root.path()), 4000U * 1024);
}

TEST(AvailableMemory, UnknownIsZero) {
  const TempDirectory root;
  EXPECT_EQ(AvailableMemoryBytes(root.path()), 0U);
}

TEST(AvailableMemory, Version1TheTightestGroupCountsAndFilePagesDoNot) {
  const TempDirectory root;
  WriteFile(root / "proc/meminfo", "MemAvailable: 4000000 kB\n");
  WriteFile(root / "proc/self/cgroup", "3:cpu,cpuacct:/elsewhere\n2:memory:/a/b\n");
  WriteFile(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  WriteFile(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", "123456789\n");
  WriteFile(root / "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000000\n");
  WriteFile(root / "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "700000\n");
  WriteFile(
      root / "sys/fs/cgroup/memory/a/memory.stat",
      "active_file 1\ninactive_file 1\ntotal_inactive_file 100000\ntotal_active_file 50000\n");
  WriteFile(root / "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "2000000\n");
  WriteFile(root / "sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "10000\n");

  EXPECT_EQ(AvailableMemoryBytes(root.path()), 450'000U);
}

TEST(AvailableMemory, Version2WithoutALimitIsTheMachines) {
  const TempDirectory root;
  WriteFile(root / "proc/meminfo", "MemAvailable: 4000 kB\n");
  WriteFile(root / "proc/self/cgroup", "0::/user.slice\n");
  WriteFile(root / "sys/fs/cgroup/user.slice/memory.max", "max\n");
  WriteFile(root / "sys/fs/cgroup/user.slice/memory.current", "100\n");

  EXPECT_EQ(AvailableMemoryBytes(root.path()), 4000U * 1024);
}

TEST(AvailableMemory, InAContainerTheGroupAtTheMountPointCounts) {
  const TempDirectory root;
  WriteFile(root / "proc/meminfo", "MemAvailable: 4000 kB\n");
  WriteFile(root / "proc/self/cgroup", "0::/docker/0123\n");  // the host's name for it
  WriteFile(root / "sys/fs/cgroup/memory.max", "500000\n");
  WriteFile(root / "sys/fs/cgroup/memory.current", "600000\n");
  WriteFile(root / "sys/fs/cgroup/memory.stat", "anon 1\nactive_file 0\ninactive_file 150000\n");

  EXPECT_EQ(AvailableMemoryBytes(root.path()), 50'000U);
}

}  // namespace
}  // namespace coli
