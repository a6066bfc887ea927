// Kinds of work that are to be compared, in turn every few pieces, so that all see the same
// neighbours.
#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "measure/stopwatch.h"

namespace coli {

// One round over `count` pieces by `threads` threads that begin each stretch together. A stretch of
// pieces gets every kind of work in turn, each a part of the round away from the other, so that
// none finds in the cache what another has read. work(kind, piece, thread) does a thread's share;
// `piece` is less than 2 * count. Gives the seconds of each kind per piece, computing time of the
// thread that took longest.
template <size_t kKinds, class Work>
std::array<double, kKinds> PairedRound(size_t count, uint32_t threads, const Work& work) {
  constexpr size_t kStretch = 8;
  using Seconds = std::array<double, kKinds>;
  std::barrier together(threads);
  std::vector<Seconds> seconds(threads, Seconds{});
  const auto run = [&](uint32_t thread) {
    for (size_t begin = 0; begin < count; begin += kStretch) {
      const size_t end = std::min(count, begin + kStretch);
      for (size_t kind = 0; kind < kKinds; ++kind) {
        together.arrive_and_wait();
        const double start = ThreadSeconds();
        for (size_t i = begin; i < end; ++i) {
          work(kind, i + kind * (count / kKinds), thread);
        }
        seconds[thread][kind] += ThreadSeconds() - start;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (uint32_t thread = 1; thread < threads; ++thread) {
      others.emplace_back(run, thread);
    }
    run(0);
  }
  Seconds longest{};
  for (const Seconds& of_thread : seconds) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
      longest[kind] = std::max(longest[kind], of_thread[kind] / static_cast<double>(count));
    }
  }
  return longest;
}

}  // namespace coli
