#include "measure/paired_round.h"

#include <gtest/gtest.h>

#include <mutex>

namespace coli {
namespace {

TEST(PairedRound, EveryThreadDoesItsShareOfEveryPieceWithEveryKindOnce) {
  constexpr size_t kCount = 21;  // two stretches and a part of one
  constexpr uint32_t kThreads = 3;
  std::mutex mutex;
  std::array<std::array<std::vector<int>, kThreads>, 2> done;
  for (auto& kind : done) {
    kind.fill(std::vector<int>(kCount));
  }

  PairedRound<2>(kCount, kThreads, [&](size_t kind, size_t piece, uint32_t thread) {
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

TEST(PairedRound, GivesTheSecondsOfEachKindPerPiece) {
  const auto compute = [](double seconds) {
    const double begin = ThreadSeconds();
    while (ThreadSeconds() - begin < seconds) {
    }
  };

  const auto [slow, fast] = PairedRound<2>(
      4, 2, [&](size_t kind, size_t, uint32_t) { compute(kind == 0 ? 0.003 : 0.001); });

  EXPECT_GE(slow, 0.003);
  EXPECT_LT(slow, 0.006);
  EXPECT_GE(fast, 0.001);
  EXPECT_LT(fast, 0.003);
}

}  // namespace
}  // namespace coli
