// Kinds of work that are to be compared, in turn every few pieces, so that all see the same
// neighbours.
#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/stopwatch.h"
#include "sys/thread_pool.h"

namespace coli {

class PairedRounds {
 public:
  // With `threads` >= 1, the calling one included. Error: kIo when the system gives fewer.
  static Result<PairedRounds> Create(uint32_t threads);

  // One round over `count` pieces by threads that begin each stretch together. A stretch of pieces
  // gets every kind of work in turn, each a part of the round away from the other, so that none
  // finds in the cache what another has read. work(kind, piece, thread) does a thread's share;
  // `piece` is less than 2 * count. Gives the seconds of each kind per piece: computing time of the
  // thread that took longest, or, as soon as threads have to share a core, time on the wall.
  template <size_t kKinds, class Work>
  std::array<double, kKinds> Round(size_t count, const Work& work) const;

 private:
  PairedRounds(std::unique_ptr<ThreadPool> pool, bool by_the_wall)
      : pool_(std::move(pool)), by_the_wall_(by_the_wall) {}

  std::unique_ptr<ThreadPool> pool_;
  bool by_the_wall_;
};

template <size_t kKinds, class Work>
std::array<double, kKinds> PairedRounds::Round(size_t count, const Work& work) const {
  constexpr size_t kStretch = 8;
  using Seconds = std::array<double, kKinds>;
  const size_t threads = pool_->threads();
  double all_here = 0;  // when the threads last were together
  std::barrier together(static_cast<ptrdiff_t>(threads),
                        [&]() noexcept { all_here = WallSeconds(); });
  std::vector<Seconds> seconds(threads, Seconds{});
  const auto run = [&](uint32_t thread) {
    for (size_t begin = 0; begin < count; begin += kStretch) {
      const size_t end = std::min(count, begin + kStretch);
      for (size_t kind = 0; kind < kKinds; ++kind) {
        together.arrive_and_wait();
        const double wall_start = all_here;
        const double start = ThreadSeconds();
        for (size_t i = begin; i < end; ++i) {
          work(kind, i + kind * (count / kKinds), thread);
        }
        const double computed = ThreadSeconds() - start;
        together.arrive_and_wait();
        seconds[thread][kind] += by_the_wall_ ? all_here - wall_start : computed;
      }
    }
  };
  // A thread that waits for the others takes no second share: each gets one.
  pool_->ParallelFor(threads, 1,
                     [&](size_t thread, size_t, size_t) { run(static_cast<uint32_t>(thread)); });
  Seconds longest{};
  for (const Seconds& of_thread : seconds) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
      longest[kind] = std::max(longest[kind], of_thread[kind] / static_cast<double>(count));
    }
  }
  return longest;
}

}  // namespace coli
