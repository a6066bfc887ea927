#include "measure/stopwatch.h"

#include <time.h>

namespace coli {
namespace {

double Read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double WallSeconds() { return Read(CLOCK_MONOTONIC); }
double ThreadSeconds() { return Read(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace coli
