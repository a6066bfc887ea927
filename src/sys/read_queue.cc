#include "sys/read_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace coli {

void ReadQueue::Push(const ReadRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    COLI_CHECK(!closed_);
    (request.urgency == Urgency::kDemand ? demand_ : ahead_).push_back(request);
  }
  waiting_changed_.notify_one();
}

std::optional<ReadCompletion> ReadQueue::Wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (demand_.empty() && ahead_.empty() && at_drive_ == 0) {
    return PollLocked();
  }
  done_changed_.wait_for(lock, patience, [this] { return !done_.empty(); });
  return PollLocked();
}

std::optional<ReadCompletion> ReadQueue::Poll() {
  const std::lock_guard lock(mutex_);
  return PollLocked();
}

std::optional<ReadCompletion> ReadQueue::PollLocked() {
  if (done_.empty()) {
    return std::nullopt;
  }
  ReadCompletion completion = std::move(done_.front());
  done_.pop_front();
  return completion;
}

std::optional<ReadRequest> ReadQueue::Remove(std::deque<ReadRequest>& requests, uint64_t tag) {
  const auto found = std::ranges::find(requests, tag, &ReadRequest::tag);
  if (found == requests.end()) {
    return std::nullopt;
  }
  const ReadRequest request = *found;
  requests.erase(found);
  return request;
}

bool ReadQueue::Cancel(uint64_t tag) {
  const std::lock_guard lock(mutex_);
  std::optional<ReadRequest> request = Remove(ahead_, tag);
  if (!request) {
    request = Remove(demand_, tag);
  }
  if (!request) {
    return false;
  }
  done_.push_back(
      {tag, Fail(ErrorCode::kCancelled, "{}: the read of {} bytes at byte {} was cancelled",
                 request->file->path(), request->destination.size(), request->offset)});
  return true;
}

bool ReadQueue::Promote(uint64_t tag) {
  {
    const std::lock_guard lock(mutex_);
    std::optional<ReadRequest> request = Remove(ahead_, tag);
    if (!request) {
      return false;
    }
    request->urgency = Urgency::kDemand;
    demand_.push_back(*request);
  }
  waiting_changed_.notify_one();  // it may go although many are ahead at the drive
  return true;
}

bool ReadQueue::Close(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (std::exchange(closed_, true)) {
    return !given_up_;
  }
  demand_.clear();
  ahead_.clear();
  waiting_changed_.notify_all();
  given_up_ = !done_changed_.wait_for(lock, patience, [this] { return at_drive_ == 0; });
  return !given_up_;
}

size_t ReadQueue::in_flight() const {
  const std::lock_guard lock(mutex_);
  return demand_.size() + ahead_.size() + at_drive_ + done_.size();
}

IoStats ReadQueue::stats() const {
  const std::lock_guard lock(mutex_);
  IoStats stats = stats_;
  Clock::duration busy = busy_;
  if (at_drive_ > 0) {
    busy += Clock::now() - busy_since_;
  }
  stats.busy_us =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(busy).count());
  return stats;
}

std::optional<ReadRequest> ReadQueue::Take() {
  const std::lock_guard lock(mutex_);
  return TakeLocked();
}

std::optional<ReadRequest> ReadQueue::WaitToTake() {
  std::unique_lock lock(mutex_);
  waiting_changed_.wait(lock, [this] { return closed_ || MayTake(); });
  return TakeLocked();
}

bool ReadQueue::MayTake() const {
  return !demand_.empty() || (!ahead_.empty() && ahead_at_drive_ < most_ahead_at_drive_);
}

std::optional<ReadRequest> ReadQueue::TakeLocked() {
  if (!MayTake()) {
    return std::nullopt;
  }
  std::deque<ReadRequest>& next = demand_.empty() ? ahead_ : demand_;
  const ReadRequest request = next.front();
  next.pop_front();
  ahead_at_drive_ += request.urgency == Urgency::kAhead ? 1U : 0U;
  if (at_drive_++ == 0) {
    busy_since_ = Clock::now();
  }
  return request;
}

bool ReadQueue::Advance(FileRead& read, ssize_t result) {
  const std::lock_guard lock(mutex_);
  if (given_up_) {
    return false;
  }
  read.Add(result);
  return true;
}

void ReadQueue::Finish(const FileRead& read) {
  {
    const std::lock_guard lock(mutex_);
    stats_.bytes += read.arrived();
    ++(read.direct() ? stats_.direct_reads : stats_.cached_reads);
    done_.push_back({read.tag(), read.status()});
    ahead_at_drive_ -= read.urgency() == Urgency::kAhead ? 1U : 0U;
    if (--at_drive_ == 0) {
      busy_ += Clock::now() - busy_since_;
    }
  }
  waiting_changed_.notify_one();  // of those that are kAhead another may go
  done_changed_.notify_all();
}

bool ReadQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace coli
