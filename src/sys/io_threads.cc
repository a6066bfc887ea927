#include "sys/io_threads.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sys/queued_engine.h"

namespace coli {
namespace {

// What a worker needs: its own, so that it can be left behind in a read that hangs.
struct Worker {
  std::shared_ptr<ReadQueue> queue;
  IoThreadsOptions options;

  void Run() const {
    while (const auto request = queue->WaitToTake()) {
      if (!Read(*request)) {
        return;
      }
    }
  }

  // False: the engine gave up on the read.
  bool Read(const ReadRequest& request) const {
    FileRead read(request, options.direct);
    while (!read.over()) {
      const FileRead::Call call = read.Next();
      if (!queue->Advance(read, options.read(call.descriptor, call.destination, call.offset))) {
        return false;
      }
    }
    queue->Finish(read);
    return true;
  }
};

class IoThreads final : public QueuedEngine {
 public:
  explicit IoThreads(IoThreadsOptions options);
  ~IoThreads() override { Close(kClosePatience); }

  void Submit(const ReadRequest& request) override;
  bool Close(std::chrono::milliseconds patience) override;
  std::string_view name() const override { return "threads"; }
  size_t depth() const override { return std::max<size_t>(threads_.size(), 1); }

 private:
  const Worker worker_;
  std::vector<std::thread> threads_;
};

IoThreads::IoThreads(IoThreadsOptions options) : worker_{queue(), std::move(options)} {
  COLI_CHECK(worker_.options.threads >= 1);
  threads_.reserve(worker_.options.threads);
  try {
    for (size_t i = 0; i < worker_.options.threads; ++i) {
      threads_.emplace_back([worker = worker_] { worker.Run(); });
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: fewer reads run at once, and with none at all Submit reads
    // by itself.
  }
}

void IoThreads::Submit(const ReadRequest& request) {
  QueuedEngine::Submit(request);
  if (threads_.empty()) {
    worker_.Read(*queue()->Take());
  }
}

bool IoThreads::Close(std::chrono::milliseconds patience) {
  const bool ended = queue()->Close(patience);
  for (std::thread& thread : std::exchange(threads_, {})) {
    ended ? thread.join() : thread.detach();
  }
  return ended;
}

}  // namespace

ssize_t ReadDescriptor(int descriptor, std::span<std::byte> destination, uint64_t offset) {
  const ssize_t got =
      ::pread(descriptor, destination.data(), destination.size(), static_cast<off_t>(offset));
  return got < 0 ? -static_cast<ssize_t>(errno) : got;
}

std::unique_ptr<IoEngine> MakeIoThreads(IoThreadsOptions options) {
  return std::make_unique<IoThreads>(std::move(options));
}

}  // namespace coli
