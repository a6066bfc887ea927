// The compute pool: the same threads for every parallel loop of one engine.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "sys/physical_cores.h"

namespace coli {

// A fixed set of worker threads, the caller being one of them. ParallelFor is called by one thread
// at a time (the engine thread); its body runs on all of them. Waiting threads spin briefly, then
// sleep: a busy neighbour costs its share only.
class ThreadPool {
 public:
  // `threads` >= 1 in all, the calling thread included. Where the system gives no more threads the
  // pool is smaller. With as many `cores` as threads each worker stays on a core of its own, the
  // caller is left what remains; a pool of another size is placed by the system, which knows what
  // else runs.
  explicit ThreadPool(size_t threads, const std::optional<PhysicalCores>& cores = std::nullopt);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t threads() const;

  // Calls body(begin, end) on disjoint ranges of at most `grain` (>= 1) items that together cover
  // [0, count). Ranges are handed out from a shared counter; which thread gets which is not
  // determined, so a body's result must not depend on it. `worker` in [0, threads()) names the
  // thread, for scratch space; the calling thread is worker 0. Returns when all ranges are done.
  // The body must neither throw nor call ParallelFor of the same pool.
  template <class Body>  // void(size_t begin, size_t end, size_t worker)
  void ParallelFor(size_t count, size_t grain, const Body& body) {
    Run(count, grain, {&body, [](const void* f, size_t begin, size_t end, size_t worker) {
                         (*static_cast<const Body*>(f))(begin, end, worker);
                       }});
  }

 private:
  // A body by reference: a loop takes no memory.
  struct BodyRef {
    const void* object;
    void (*call)(const void* object, size_t begin, size_t end, size_t worker);
    void operator()(size_t begin, size_t end, size_t worker) const {
      call(object, begin, end, worker);
    }
  };
  void Run(size_t count, size_t grain, const BodyRef& body);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coli
