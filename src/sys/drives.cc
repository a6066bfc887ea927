#include "sys/drives.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"

namespace coli {
namespace {

using std::chrono::milliseconds;

// How fast a drive has been of late: bytes over the time that it was busy.
class Speed {
 public:
  double bytes_per_second() const { return bytes_per_second_; }

  void Update(const IoStats& stats) {
    const uint64_t busy_us = stats.busy_us - seen_.busy_us;
    const uint64_t bytes = stats.bytes - seen_.bytes;
    if (busy_us < kWindowUs || bytes == 0) {
      return;
    }
    const double measured = 1e6 * static_cast<double>(bytes) / static_cast<double>(busy_us);
    bytes_per_second_ = seen_.bytes == 0 ? measured : (bytes_per_second_ + measured) / 2;
    seen_ = stats;
  }

 private:
  static constexpr uint64_t kWindowUs = 20'000;

  double bytes_per_second_ = 1e9;  // until something was read: equal for all
  IoStats seen_;
};

class Drives final : public IoEngine {
 public:
  Drives(std::unique_ptr<IoEngine> first, std::vector<Mirror> mirrors,
         std::function<void(const std::string&)> dropped);
  ~Drives() override { Close(kClosePatience); }

  void Submit(const ReadRequest& request) override;
  std::optional<ReadCompletion> Wait(milliseconds patience) override;
  std::optional<ReadCompletion> Poll() override;
  bool Cancel(uint64_t tag) override;
  bool Promote(uint64_t tag) override;
  bool Close(milliseconds patience) override;
  size_t in_flight() const override { return reads_.size(); }
  IoStats stats() const override;
  std::string_view name() const override { return "several drives"; }
  size_t depth() const override;

 private:
  struct Drive {
    Mirror mirror;  // of the first drive without copies
    bool dropped = false;
    uint64_t waiting_bytes = 0;
    Speed speed;
  };
  struct Read {
    ReadRequest request;
    size_t drive;
    bool cancelled = false;  // as the caller wished
  };

  static constexpr size_t kFirst = 0;

  const File* FileOn(size_t drive, const File* file) const;
  void SubmitTo(size_t drive, Read& read);
  void Drop(Drive& drive, const Error& error);
  std::optional<ReadCompletion> Finish(ReadCompletion completion);
  size_t Busiest() const;

  std::vector<Drive> drives_;
  std::function<void(const std::string&)> dropped_;
  std::map<uint64_t, Read> reads_;  // in flight, by tag
  bool closed_ = false;
  bool ended_ = false;
};

Drives::Drives(std::unique_ptr<IoEngine> first, std::vector<Mirror> mirrors,
               std::function<void(const std::string&)> dropped)
    : dropped_(std::move(dropped)) {
  drives_.push_back({.mirror = {"the model's own drive", std::move(first), {}}, .speed = {}});
  for (Mirror& mirror : mirrors) {
    drives_.push_back({.mirror = std::move(mirror), .speed = {}});
  }
}

// Nothing if the drive has no copy.
const File* Drives::FileOn(size_t drive, const File* file) const {
  if (drive == kFirst) {
    return file;
  }
  const auto& copies = drives_[drive].mirror.copies;
  const auto copy = copies.find(file);
  return copy == copies.end() ? nullptr : copy->second;
}

void Drives::Submit(const ReadRequest& request) {
  std::vector<DriveLoad> loads;
  for (size_t i = 0; i < drives_.size(); ++i) {
    Drive& drive = drives_[i];
    if (!drive.dropped && FileOn(i, request.file) != nullptr) {
      drive.speed.Update(drive.mirror.engine->stats());
      loads.push_back({i, drive.waiting_bytes, drive.speed.bytes_per_second()});
    }
  }
  const auto [read, added] = reads_.try_emplace(request.tag, Read{request, kFirst});
  COLI_CHECK(added);
  SubmitTo(ChooseDrive(loads, request.destination.size()), read->second);
}

void Drives::SubmitTo(size_t drive, Read& read) {
  read.drive = drive;
  drives_[drive].waiting_bytes += read.request.destination.size();
  ReadRequest request = read.request;
  request.file = FileOn(drive, request.file);
  drives_[drive].mirror.engine->Submit(request);
}

std::optional<ReadCompletion> Drives::Poll() {
  for (Drive& drive : drives_) {
    while (auto completion = drive.mirror.engine->Poll()) {
      if (auto finished = Finish(*std::move(completion))) {
        return finished;
      }
    }
  }
  return std::nullopt;
}

// Waits for one drive at a time, shortly: another one may be first after all.
std::optional<ReadCompletion> Drives::Wait(milliseconds patience) {
  constexpr milliseconds kStep{1};
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!reads_.empty()) {
    if (auto finished = Poll()) {
      return finished;
    }
    if (auto completion = drives_[Busiest()].mirror.engine->Wait(std::min(patience, kStep))) {
      if (auto finished = Finish(*std::move(completion))) {
        return finished;
      }
    }
    if (std::chrono::steady_clock::now() >= end) {
      break;
    }
  }
  return std::nullopt;
}

size_t Drives::Busiest() const {
  return static_cast<size_t>(std::ranges::max_element(drives_, {}, &Drive::waiting_bytes) -
                             drives_.begin());
}

// Nothing when the read is repeated.
std::optional<ReadCompletion> Drives::Finish(ReadCompletion completion) {
  const auto found = reads_.find(completion.tag);
  COLI_CHECK(found != reads_.end());
  Read& read = found->second;
  Drive& drive = drives_[read.drive];
  drive.waiting_bytes -= read.request.destination.size();
  if (!completion.status && !read.cancelled && read.drive != kFirst) {
    Drop(drive, completion.status.error());
    SubmitTo(kFirst, read);
    return std::nullopt;
  }
  reads_.erase(found);
  return completion;
}

// What waits there need not be tried: it completes as cancelled and is repeated.
void Drives::Drop(Drive& drive, const Error& error) {
  if (std::exchange(drive.dropped, true)) {
    return;
  }
  for (const auto& [tag, read] : reads_) {
    if (&drives_[read.drive] == &drive) {
      drive.mirror.engine->Cancel(tag);
    }
  }
  if (dropped_) {
    dropped_(fmt::format("{} is not read any more: {}", drive.mirror.name, error.message));
  }
}

bool Drives::Cancel(uint64_t tag) {
  const auto found = reads_.find(tag);
  if (found == reads_.end()) {
    return false;
  }
  Read& read = found->second;
  const bool cancelled = drives_[read.drive].mirror.engine->Cancel(tag);
  read.cancelled = read.cancelled || cancelled;
  return cancelled;
}

bool Drives::Promote(uint64_t tag) {
  const auto found = reads_.find(tag);
  if (found == reads_.end()) {
    return false;
  }
  Read& read = found->second;
  const bool promoted = drives_[read.drive].mirror.engine->Promote(tag);
  if (promoted) {
    read.request.urgency = Urgency::kDemand;  // also when it is repeated
  }
  return promoted;
}

bool Drives::Close(milliseconds patience) {
  if (!std::exchange(closed_, true)) {
    ended_ = true;
    for (Drive& drive : drives_) {
      ended_ = drive.mirror.engine->Close(patience) && ended_;
    }
  }
  return ended_;
}

// The time during which any drive was busy is not known: that of the busiest.
IoStats Drives::stats() const {
  IoStats sum;
  for (const Drive& drive : drives_) {
    const IoStats stats = drive.mirror.engine->stats();
    sum.bytes += stats.bytes;
    sum.busy_us = std::max(sum.busy_us, stats.busy_us);
    sum.direct_reads += stats.direct_reads;
    sum.cached_reads += stats.cached_reads;
  }
  return sum;
}

size_t Drives::depth() const {
  size_t depth = 0;
  for (const Drive& drive : drives_) {
    depth += drive.dropped ? 0 : drive.mirror.engine->depth();
  }
  return depth;
}

}  // namespace

size_t ChooseDrive(std::span<const DriveLoad> loads, uint64_t bytes) {
  COLI_CHECK(!loads.empty());
  const auto seconds = [bytes](const DriveLoad& load) {
    return static_cast<double>(load.waiting_bytes + bytes) / load.bytes_per_second;
  };
  return std::ranges::min_element(loads, {}, seconds)->drive;
}

std::unique_ptr<IoEngine> MakeDrives(std::unique_ptr<IoEngine> first, std::vector<Mirror> mirrors,
                                     std::function<void(const std::string&)> dropped) {
  return std::make_unique<Drives>(std::move(first), std::move(mirrors), std::move(dropped));
}

}  // namespace coli
