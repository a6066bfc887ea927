#include "measure/busy_neighbour.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <thread>

#include "measure/stopwatch.h"

namespace coli {
namespace {

void Sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// Computing time of all threads of this process but the calling one.
double OthersSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
         ThreadSeconds();
}

TEST(BusyNeighbour, ComputesUntilItIsGone) {
  constexpr double kMuch = 0.1;
  constexpr double kPatience = 60;  // other programs may have its core
  const double start = OthersSeconds();
  const double begin = WallSeconds();
  {
    const BusyNeighbour neighbour;
    while (OthersSeconds() - start < kMuch && WallSeconds() - begin < kPatience) {
      Sleep();
    }
    EXPECT_GE(OthersSeconds() - start, kMuch);
  }

  const double end = OthersSeconds();
  Sleep();
  EXPECT_LT(OthersSeconds() - end, 0.01);
}

}  // namespace
}  // namespace coli
