#include "measure/paired_round.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace coli {
namespace {

// Computes for so long, in time of the calling thread.
void ComputeFor(double seconds) {
  const double begin = ThreadSeconds();
  while (ThreadSeconds() - begin < seconds) {
  }
}

TEST(PairedRounds, EveryThreadDoesItsShareOfEveryPieceWithEveryKindOnce) {
  constexpr size_t kCount = 21;  // two stretches and a part of one
  constexpr uint32_t kThreads = 3;
  std::mutex mutex;
  std::array<std::array<std::vector<int>, kThreads>, 2> done;
  for (auto& kind : done) {
    kind.fill(std::vector<int>(kCount));
  }

  PairedRounds::Create(kThreads)->Round<2>(kCount, [&](size_t kind, size_t piece, uint32_t thread) {
    ASSERT_LT(piece, 2 * kCount);
    const std::scoped_lock lock(mutex);
    ++done[kind][thread][piece % kCount];
  });

  for (const auto& kind : done) {
    for (const std::vector<int>& of_thread : kind) {
      EXPECT_EQ(of_thread, std::vector<int>(kCount, 1));
    }
  }
}

TEST(PairedRounds, GivesTheSecondsOfEachKindPerPiece) {
  const auto threads = static_cast<uint32_t>(std::min<size_t>(2, PhysicalCores().count()));

  const auto [slow, fast] = PairedRounds::Create(threads)->Round<2>(
      4, [](size_t kind, size_t, uint32_t) { ComputeFor(kind == 0 ? 0.003 : 0.001); });

  EXPECT_GE(slow, 0.003);
  EXPECT_LT(slow, 0.006);
  EXPECT_GE(fast, 0.001);
  EXPECT_LT(fast, 0.003);
}

TEST(PairedRounds, ThreadsThatShareCoresTakeAsLongAsAllTheirWork) {
  constexpr uint32_t kThreadsPerCpu = 4;
  constexpr double kSeconds = 0.002;  // of a thread for a piece

  const auto [seconds] = PairedRounds::Create(kThreadsPerCpu * std::thread::hardware_concurrency())
                             ->Round<1>(8, [](size_t, size_t, uint32_t) { ComputeFor(kSeconds); });

  EXPECT_GE(seconds, 0.99 * kThreadsPerCpu * kSeconds);
}

}  // namespace
}  // namespace coli
