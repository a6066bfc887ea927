#include "sys/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"

namespace coli {
namespace {

void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Long enough to bridge the serial code between two loops of a layer, short enough to leave the
// core to a neighbour.
constexpr std::chrono::microseconds kSpin{20};

// Returns when `value` differs from `old`.
void SpinThenWait(const std::atomic<int32_t>& value, int32_t old, bool spin) {
  if (spin) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    do {
      for (int i = 0; i < 32; ++i) {
        if (value.load(std::memory_order_acquire) != old) {
          return;
        }
        CpuRelax();
      }
    } while (std::chrono::steady_clock::now() < deadline);
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

// A worker takes part in a loop only by claiming one of its chunks, and a loop ends when its chunks
// are done: a worker that the system does not run holds nobody up. The plain fields of the loop are
// written while no chunk is claimable and read only between a claim and its completion, so they
// need no lock.
struct ThreadPool::State {
  void Run(size_t worker);
  void Work(size_t worker);
  bool Claim();

  // The loop that runs.
  const BodyRef* body = nullptr;
  size_t count = 0;
  size_t grain = 1;
  size_t chunks = 0;

  std::atomic<size_t> unclaimed{0};  // chunks
  std::atomic<size_t> next_chunk{0};
  std::atomic<size_t> unfinished{0};  // chunks
  std::atomic<int32_t> started{0};    // counts loops; what idle workers wait for
  std::atomic<int32_t> finished{0};   // counts loops; what the caller waits for
  std::atomic<bool> stop{false};
  std::atomic<bool> busy{false};
  bool spin = true;
  std::vector<std::jthread> workers;  // last: they end before what they use
};

bool ThreadPool::State::Claim() {
  size_t left = unclaimed.load(std::memory_order_acquire);
  while (left > 0) {
    if (unclaimed.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

void ThreadPool::State::Run(size_t worker) {
  while (Claim()) {
    const size_t begin = next_chunk.fetch_add(1, std::memory_order_relaxed) * grain;
    (*body)(begin, std::min(begin + grain, count), worker);
    if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      finished.fetch_add(1, std::memory_order_release);
      finished.notify_one();
    }
  }
}

void ThreadPool::State::Work(size_t worker) {
  while (true) {
    const int32_t seen = started.load(std::memory_order_acquire);
    if (stop.load(std::memory_order_acquire)) {
      return;
    }
    Run(worker);
    SpinThenWait(started, seen, spin);
  }
}

ThreadPool::ThreadPool(size_t threads, const std::optional<PhysicalCores>& cores)
    : state_(std::make_unique<State>()) {
  COLI_CHECK(threads >= 1);
  const std::optional<PhysicalCores> own =
      cores && cores->count() == threads ? cores : std::nullopt;
  state_->spin = threads <= std::thread::hardware_concurrency();
  state_->workers.reserve(threads - 1);
  try {
    for (size_t worker = 1; worker < threads; ++worker) {
      state_->workers.emplace_back([state = state_.get(), worker, own] {
        if (own) {
          own->BindThisThread(worker);  // refused: it runs where the system puts it
        }
        state->Work(worker);
      });
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: the pool is smaller, as threads() says.
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_release);
  state_->started.fetch_add(1, std::memory_order_release);
  state_->started.notify_all();
  state_->workers.clear();
}

size_t ThreadPool::threads() const { return state_->workers.size() + 1; }

void ThreadPool::Run(size_t count, size_t grain, const BodyRef& body) {
  COLI_CHECK(grain >= 1);
  State& s = *state_;
  COLI_CHECK(!s.busy.exchange(true));  // neither nested nor from two threads
  if (s.workers.empty() || count <= grain) {
    for (size_t begin = 0; begin < count; begin += std::min(grain, count - begin)) {
      body(begin, begin + std::min(grain, count - begin), 0);
    }
  } else {
    s.body = &body;
    s.count = count;
    s.grain = grain;
    s.chunks = count / grain + (count % grain != 0 ? 1 : 0);
    const int32_t before = s.finished.load(std::memory_order_relaxed);
    s.next_chunk.store(0, std::memory_order_relaxed);
    s.unfinished.store(s.chunks, std::memory_order_relaxed);
    s.unclaimed.store(s.chunks, std::memory_order_release);
    s.started.fetch_add(1, std::memory_order_release);
    s.started.notify_all();
    s.Run(0);
    SpinThenWait(s.finished, before, s.spin);
  }
  s.busy.store(false);
}

}  // namespace coli
