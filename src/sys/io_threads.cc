#include "sys/io_threads.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace coli {
namespace {

class IoThreads final : public IoEngine {
 public:
  explicit IoThreads(size_t threads);
  ~IoThreads() override;

  void Submit(const ReadRequest& request) override;
  ReadCompletion Wait() override;
  std::optional<ReadCompletion> Poll() override;
  size_t in_flight() const override { return in_flight_; }
  std::string_view name() const override { return "threads"; }

 private:
  void Work();
  ReadCompletion TakeLocked();

  size_t in_flight_ = 0;  // of the submitting thread only

  std::mutex mutex_;
  std::condition_variable work_ready_;
  std::condition_variable read_done_;
  std::deque<ReadRequest> queue_;
  std::deque<ReadCompletion> done_;
  bool stop_ = false;
  std::vector<std::jthread> workers_;  // last: they end before what they use
};

IoThreads::IoThreads(size_t threads) {
  COLI_CHECK(threads >= 1);
  workers_.reserve(threads);
  try {
    for (size_t i = 0; i < threads; ++i) {
      workers_.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: fewer reads run at once, and with none at all Submit reads
    // by itself.
  }
}

IoThreads::~IoThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_ready_.notify_all();
  workers_.clear();
}

void IoThreads::Submit(const ReadRequest& request) {
  ++in_flight_;
  if (workers_.empty()) {
    done_.push_back({request.tag, request.file->ReadExact(request.offset, request.destination)});
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(request);
  }
  work_ready_.notify_one();
}

ReadCompletion IoThreads::Wait() {
  COLI_CHECK(in_flight_ > 0);
  std::unique_lock lock(mutex_);
  read_done_.wait(lock, [this] { return !done_.empty(); });
  return TakeLocked();
}

std::optional<ReadCompletion> IoThreads::Poll() {
  const std::lock_guard lock(mutex_);
  if (done_.empty()) {
    return std::nullopt;
  }
  return TakeLocked();
}

ReadCompletion IoThreads::TakeLocked() {
  ReadCompletion completion = std::move(done_.front());
  done_.pop_front();
  --in_flight_;
  return completion;
}

void IoThreads::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_ready_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) {
      return;
    }
    const ReadRequest request = queue_.front();
    queue_.pop_front();
    lock.unlock();
    Status status = request.file->ReadExact(request.offset, request.destination);
    lock.lock();
    done_.push_back({request.tag, std::move(status)});
    read_done_.notify_one();
  }
}

}  // namespace

std::unique_ptr<IoEngine> MakeIoThreads(size_t threads) {
  return std::make_unique<IoThreads>(threads);
}

}  // namespace coli
