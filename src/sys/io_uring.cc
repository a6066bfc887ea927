#include "sys/io_uring.h"

#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sys/queued_engine.h"
#include "sys/read_loop.h"

namespace coli {
namespace {

// What the thread that reads owns: apart from the engine, so that it can be left behind with a read
// that hangs.
class RingReader {
 public:
  static Result<std::shared_ptr<RingReader>> Make(std::shared_ptr<ReadQueue> queue,
                                                  const IoUringOptions& options);
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;
  ~RingReader();

  // Until the queue is closed and no read is at the drive, or one hung when it was closed.
  void Run();
  // In any thread: something was pushed or promoted, or the queue was closed.
  void Wake();

 private:
  static constexpr uint64_t kWake = ~uint64_t{0};  // names the read of wake_; others are of slots

  RingReader(std::shared_ptr<ReadQueue> queue, const IoUringOptions& options)
      : queue_(std::move(queue)), direct_(options.direct), reads_(options.depth) {}
  Status Open();
  std::optional<ReadRequest> Take();
  void BeginReads();
  void AskToBeWoken();
  void Call(size_t slot);
  bool Collect();

  const std::shared_ptr<ReadQueue> queue_;
  const bool direct_;
  std::vector<std::optional<FileRead>> reads_;  // at the drive
  std::vector<size_t> vacant_;                  // indices into reads_
  io_uring ring_{};
  bool ring_open_ = false;
  int wake_ = -1;            // an eventfd
  uint64_t wake_count_ = 0;  // what is read from it: of no interest
  bool wake_is_read_ = false;
  // The thread found nothing to read and must be woken for the next request.
  std::atomic<bool> idle_ = false;
};

Result<std::shared_ptr<RingReader>> RingReader::Make(std::shared_ptr<ReadQueue> queue,
                                                     const IoUringOptions& options) {
  std::shared_ptr<RingReader> reader(new RingReader(std::move(queue), options));
  COLI_RETURN_IF_ERROR(reader->Open());
  return reader;
}

Status RingReader::Open() {
  for (size_t slot = reads_.size(); slot-- > 0;) {
    vacant_.push_back(slot);
  }
  const auto entries = static_cast<unsigned>(reads_.size() + 1);
  if (const int result = ::io_uring_queue_init(entries, &ring_, 0); result < 0) {
    return Fail(ErrorCode::kUnsupported, "io_uring: {}", SystemErrorText(-result));
  }
  ring_open_ = true;
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) {
    return Fail(ErrorCode::kUnsupported, "io_uring: no eventfd: {}", SystemErrorText(errno));
  }
  return Ok();
}

RingReader::~RingReader() {
  if (ring_open_) {
    ::io_uring_queue_exit(&ring_);
  }
  if (wake_ >= 0) {
    ::close(wake_);
  }
}

void RingReader::Wake() {
  if (idle_.exchange(false)) {
    const uint64_t one = 1;
    while (::write(wake_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }
}

void RingReader::Run() {
  while (true) {
    BeginReads();
    if (vacant_.size() == reads_.size() && queue_->closed()) {
      return;
    }
    AskToBeWoken();
    // Refused for want of memory or because of a signal: what was prepared stays so.
    if (::io_uring_submit_and_wait(&ring_, 1) < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!Collect()) {
      return;
    }
  }
}

// After it gave nothing, Push wakes the thread: a request that came in between is seen by the
// second look.
std::optional<ReadRequest> RingReader::Take() {
  auto request = queue_->Take();
  if (!request) {
    idle_ = true;
    request = queue_->Take();
    if (request) {
      idle_ = false;
    }
  }
  return request;
}

void RingReader::BeginReads() {
  while (!vacant_.empty()) {
    const auto request = Take();
    if (!request) {
      return;
    }
    const size_t slot = vacant_.back();
    reads_[slot].emplace(*request, direct_);
    vacant_.pop_back();
    Call(slot);
  }
}

void RingReader::AskToBeWoken() {
  if (!std::exchange(wake_is_read_, true)) {
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    COLI_CHECK(entry != nullptr);
    ::io_uring_prep_read(entry, wake_, &wake_count_, sizeof(wake_count_), 0);
    ::io_uring_sqe_set_data64(entry, kWake);
  }
}

// The next call of the read in `slot`, or its end.
void RingReader::Call(size_t slot) {
  FileRead& read = *reads_[slot];
  if (read.over()) {
    queue_->Finish(read);
    reads_[slot].reset();
    vacant_.push_back(slot);
    return;
  }
  constexpr size_t kLongest = size_t{1} << 30;  // a length has 32 bits
  const FileRead::Call call = read.Next();
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
  COLI_CHECK(entry != nullptr);  // every slot has one call at a time, and the ring an entry for it
  ::io_uring_prep_read(entry, call.descriptor, call.destination.data(),
                       static_cast<unsigned>(std::min(call.destination.size(), kLongest)),
                       call.offset);
  ::io_uring_sqe_set_data64(entry, slot);
}

// Takes all completions that are there. False: the engine gave up on a read that hung.
bool RingReader::Collect() {
  io_uring_cqe* entry = nullptr;
  while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
    const uint64_t name = ::io_uring_cqe_get_data64(entry);
    const ssize_t result = entry->res;
    ::io_uring_cqe_seen(&ring_, entry);
    if (name == kWake) {
      wake_is_read_ = false;
      continue;
    }
    if (!queue_->Advance(*reads_[name], result)) {
      return false;
    }
    Call(name);
  }
  return true;
}

class IoUring final : public QueuedEngine {
 public:
  static Result<std::unique_ptr<IoEngine>> Make(const IoUringOptions& options);
  ~IoUring() override { Close(kClosePatience); }

  void Submit(const ReadRequest& request) override;
  bool Promote(uint64_t tag) override;
  bool Close(std::chrono::milliseconds patience) override;
  std::string_view name() const override { return "io_uring"; }
  size_t depth() const override { return depth_; }

 private:
  explicit IoUring(size_t depth) : depth_(depth) {}

  const size_t depth_;
  std::shared_ptr<RingReader> reader_;
  std::thread thread_;
};

Result<std::unique_ptr<IoEngine>> IoUring::Make(const IoUringOptions& options) {
  COLI_CHECK(options.depth >= 1 && options.depth <= IoUringOptions::kMaxDepth);
  std::unique_ptr<IoUring> engine(new IoUring(options.depth));
  COLI_ASSIGN_OR_RETURN(engine->reader_, RingReader::Make(engine->queue(), options));
  try {
    engine->thread_ = std::thread([reader = engine->reader_] { reader->Run(); });
  } catch (const std::system_error& error) {
    return Fail(ErrorCode::kUnsupported, "io_uring: no thread: {}", error.what());
  }
  return engine;
}

void IoUring::Submit(const ReadRequest& request) {
  QueuedEngine::Submit(request);
  reader_->Wake();
}

bool IoUring::Promote(uint64_t tag) {
  const bool promoted = QueuedEngine::Promote(tag);
  if (promoted) {
    reader_->Wake();
  }
  return promoted;
}

bool IoUring::Close(std::chrono::milliseconds patience) {
  const bool ended = queue()->Close(patience);
  if (thread_.joinable()) {
    reader_->Wake();
    ended ? thread_.join() : thread_.detach();
  }
  return ended;
}

}  // namespace

Result<std::unique_ptr<IoEngine>> MakeIoUring(const IoUringOptions& options) {
  return IoUring::Make(options);
}

}  // namespace coli
