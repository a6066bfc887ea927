#include "sys/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace coli {
namespace {

class ThreadPoolTest : public ::testing::TestWithParam<size_t> {};

TEST_P(ThreadPoolTest, EveryItemIsDoneOnceInRangesOfAtMostTheGrain) {
  ThreadPool pool(GetParam());
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const size_t count = random() % 500;
    const size_t grain = 1 + random() % 60;
    std::vector<int> done(count, 0);  // plain: ranges are disjoint
    std::atomic<bool> wrong{false};

    pool.ParallelFor(count, grain, [&](size_t begin, size_t end, size_t worker) {
      if (begin >= end || end - begin > grain || end > count || worker >= pool.threads()) {
        wrong = true;
      }
      for (size_t i = begin; i < end; ++i) {
        ++done[i];
      }
    });

    EXPECT_FALSE(wrong);
    EXPECT_EQ(done, std::vector<int>(count, 1));
  }
}

TEST_P(ThreadPoolTest, AWorkerIsOneThreadAtATime) {
  ThreadPool pool(GetParam());
  std::vector<uint64_t> sums(pool.threads(), 0);  // plain: each worker its own

  for (int round = 0; round < 200; ++round) {
    pool.ParallelFor(100, 1, [&](size_t begin, size_t, size_t worker) { sums[worker] += begin; });
  }

  uint64_t total = 0;
  for (const uint64_t sum : sums) {
    total += sum;
  }
  EXPECT_EQ(total, 200U * (99U * 100U / 2));
}

// What one loop wrote the next one reads, on whichever thread: a race would show under
// ThreadSanitizer.
TEST_P(ThreadPoolTest, LoopsFollowEachOtherWithoutRaces) {
  ThreadPool pool(GetParam());
  std::vector<uint64_t> values(257, 1);
  for (int round = 0; round < 2'000; ++round) {
    const uint64_t add = values[0] % 7;
    pool.ParallelFor(values.size(), 16, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        values[i] += add + 1;
      }
    });
    if (round % 100 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // let workers fall asleep
    }
  }
  EXPECT_EQ(values, std::vector<uint64_t>(values.size(), values[0]));
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3, 8));

TEST(ThreadPool, APoolOfOneRunsOnTheCaller) {
  ThreadPool pool(1);
  const auto caller = std::this_thread::get_id();
  size_t calls = 0;

  pool.ParallelFor(10, 3, [&](size_t, size_t, size_t worker) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(worker, 0U);
    ++calls;
  });

  EXPECT_EQ(calls, 4U);
}

TEST(ThreadPool, ComesAndGoesWithoutWork) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(4);
    EXPECT_EQ(pool.threads(), 4U);
  }
}

TEST(ThreadPool, WithAThreadPerCoreEachWorkerKeepsToACoreOfItsOwn) {
  const PhysicalCores cores;
  std::vector<cpu_set_t> expected(cores.count());
  for (size_t core = 1; core < cores.count(); ++core) {
    bool bound = false;
    std::thread([&] {
      bound = cores.BindThisThread(core);
      ::sched_getaffinity(0, sizeof(cpu_set_t), &expected[core]);
    }).join();
    if (!bound) {
      GTEST_SKIP() << "the system does not bind threads to cores";
    }
  }
  ThreadPool pool(cores.count(), cores);
  std::vector<std::atomic<bool>> seen(cores.count());
  const auto everybody = [&] {
    return std::ranges::all_of(seen, [](const auto& s) { return s.load(); });
  };
  seen[0] = true;  // the caller is not bound
  for (int loop = 0; loop < 10000 && !everybody(); ++loop) {
    pool.ParallelFor(cores.count(), 1, [&](size_t, size_t, size_t worker) {
      cpu_set_t here;
      ::sched_getaffinity(0, sizeof(cpu_set_t), &here);
      EXPECT_TRUE(worker == 0 || CPU_EQUAL(&here, &expected[worker])) << "worker " << worker;
      seen[worker] = true;
      std::this_thread::yield();
    });
  }
  EXPECT_TRUE(everybody());
}

TEST(ThreadPool, LeavesTheCallerAndItsThreadsUnbound) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  const PhysicalCores cores;
  const ThreadPool pool(cores.count(), cores);
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace coli
