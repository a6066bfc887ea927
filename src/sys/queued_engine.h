// The half of an IoEngine that is the same for all who read files: everything but the readers.
#pragma once

#include <memory>

#include "sys/io_engine.h"
#include "sys/read_queue.h"

namespace coli {

// Derived classes add threads that take from queue() and finish. The queue is shared with them, so
// that a thread in a read that hangs can be left behind.
class QueuedEngine : public IoEngine {
 public:
  void Submit(const ReadRequest& request) override { queue_->Push(request); }
  std::optional<ReadCompletion> Wait(std::chrono::milliseconds patience) override {
    return queue_->Wait(patience);
  }
  std::optional<ReadCompletion> Poll() override { return queue_->Poll(); }
  bool Cancel(uint64_t tag) override { return queue_->Cancel(tag); }
  bool Promote(uint64_t tag) override { return queue_->Promote(tag); }
  size_t in_flight() const override { return queue_->in_flight(); }
  IoStats stats() const override { return queue_->stats(); }

 protected:
  const std::shared_ptr<ReadQueue>& queue() const { return queue_; }

 private:
  const std::shared_ptr<ReadQueue> queue_ = std::make_shared<ReadQueue>();
};

}  // namespace coli
