#include "sys/drives.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "sys/drive_speed.h"

namespace coli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class Drives final : public IoEngine {
 public:
  Drives(std::vector<Drive> drives, std::function<void(const std::string&)> tell,
         milliseconds patience);
  ~Drives() override { Close(kClosePatience); }

  void Submit(const ReadRequest& request) override;
  std::optional<ReadCompletion> Wait(milliseconds patience) override;
  std::optional<ReadCompletion> Poll() override;
  bool Cancel(uint64_t tag) override;
  bool Promote(uint64_t tag) override;
  bool Close(milliseconds patience) override;
  size_t in_flight() const override { return reads_.size() + hanging_.size(); }
  IoStats stats() const override;
  std::string_view name() const override { return name_; }
  size_t depth() const override;

 private:
  struct State {
    Drive drive;
    bool told = false;  // that reads fail here
    uint64_t waiting_bytes = 0;
    // While reads wait: since one ended, or the first of them began. Only time that somebody was
    // looking counts: while the process is stopped, no drive is late.
    Clock::duration silent{0};
    DriveSpeed speed;

    bool dropped() const { return drive.is_mirror && told; }
  };
  struct Read {
    ReadRequest request;
    size_t drive = 0;
    bool cancelled = false;          // as the caller wished
    std::optional<Error> own_error;  // of the drive of the file itself
  };

  const File* FileOn(size_t drive, const File* file) const;
  std::optional<size_t> Choose(const Read& read);
  void SubmitTo(size_t drive, Read& read);
  std::optional<ReadCompletion> Finish(size_t drive, ReadCompletion completion);
  bool Repeat(Read& read, const Error& error);
  void Drop(State& state, const Error& error);
  void DropHanging();
  void Tell(State& state, std::string_view what, const Error& error);
  size_t Busiest() const;

  std::vector<State> drives_;
  const std::function<void(const std::string&)> tell_;
  const milliseconds patience_;  // with a mirror
  Clock::time_point looked_at_ = Clock::now();
  const std::string name_;
  std::map<uint64_t, Read> reads_;  // in flight, by tag
  std::deque<ReadCompletion> hanging_;
  bool closed_ = false;
  bool ended_ = false;
};

Drives::Drives(std::vector<Drive> drives, std::function<void(const std::string&)> tell,
               milliseconds patience)
    : tell_(std::move(tell)), patience_(patience), name_(fmt::format("{} drives", drives.size())) {
  for (Drive& drive : drives) {
    drives_.push_back({.drive = std::move(drive), .speed = {}});
  }
}

// Nothing if the drive has neither the file nor a copy.
const File* Drives::FileOn(size_t drive, const File* file) const {
  const auto& files = drives_[drive].drive.files;
  const auto found = files.find(file);
  return found == files.end() ? nullptr : found->second;
}

// Of the drives that have the file, but for those where reads failed.
std::optional<size_t> Drives::Choose(const Read& read) {
  std::vector<DriveLoad> loads;
  for (size_t i = 0; i < drives_.size(); ++i) {
    State& state = drives_[i];
    const bool failed = state.drive.is_mirror ? state.told : read.own_error.has_value();
    if (!failed && FileOn(i, read.request.file) != nullptr) {
      state.speed.Update(state.drive.engine->stats(), Clock::now());
      loads.push_back({i, state.waiting_bytes, state.speed.bytes_per_second()});
    }
  }
  return loads.empty() ? std::nullopt
                       : std::optional(ChooseDrive(loads, read.request.destination.size()));
}

void Drives::Submit(const ReadRequest& request) {
  const auto [read, added] =
      reads_.try_emplace(request.tag, Read{.request = request, .own_error = {}});
  COLI_CHECK(added);
  const std::optional<size_t> drive = Choose(read->second);
  COLI_CHECK(drive.has_value());
  SubmitTo(*drive, read->second);
}

void Drives::SubmitTo(size_t drive, Read& read) {
  State& state = drives_[drive];
  read.drive = drive;
  if (state.waiting_bytes == 0) {
    state.silent = {};
  }
  state.waiting_bytes += read.request.destination.size();
  ReadRequest request = read.request;
  request.file = FileOn(drive, request.file);
  state.drive.engine->Submit(request);
}

std::optional<ReadCompletion> Drives::Poll() {
  for (size_t drive = 0; drive < drives_.size(); ++drive) {
    while (auto completion = drives_[drive].drive.engine->Poll()) {
      if (auto finished = Finish(drive, *std::move(completion))) {
        return finished;
      }
    }
  }
  DropHanging();
  if (hanging_.empty()) {
    return std::nullopt;
  }
  ReadCompletion hanging = std::move(hanging_.front());
  hanging_.pop_front();
  return hanging;
}

// Waits for one drive at a time, shortly: another one may be first after all.
std::optional<ReadCompletion> Drives::Wait(milliseconds patience) {
  constexpr milliseconds kStep{1};
  const auto end = Clock::now() + patience;
  while (in_flight() > 0) {
    if (auto finished = Poll()) {
      return finished;
    }
    const size_t drive = Busiest();
    if (auto completion = drives_[drive].drive.engine->Wait(std::min(patience, kStep))) {
      if (auto finished = Finish(drive, *std::move(completion))) {
        return finished;
      }
    }
    if (Clock::now() >= end) {
      break;
    }
  }
  return std::nullopt;
}

size_t Drives::Busiest() const {
  return static_cast<size_t>(std::ranges::max_element(drives_, {}, &State::waiting_bytes) -
                             drives_.begin());
}

// Nothing when the read is repeated, or was given up before.
std::optional<ReadCompletion> Drives::Finish(size_t drive, ReadCompletion completion) {
  const auto found = reads_.find(completion.tag);
  if (found == reads_.end() || found->second.drive != drive) {
    COLI_CHECK(drives_[drive].dropped());
    return std::nullopt;
  }
  Read& read = found->second;
  drives_[drive].waiting_bytes -= read.request.destination.size();
  drives_[drive].silent = {};
  if (!completion.status && !read.cancelled) {
    if (Repeat(read, completion.status.error())) {
      return std::nullopt;
    }
    if (read.own_error) {
      completion.status = tl::unexpected(*std::move(read.own_error));
    }
  }
  reads_.erase(found);
  return completion;
}

// A read failed. False: there is no other drive to read it from.
bool Drives::Repeat(Read& read, const Error& error) {
  State& state = drives_[read.drive];
  if (state.drive.is_mirror) {
    Drop(state, error);
  } else {
    read.own_error = error;
  }
  const std::optional<size_t> other = Choose(read);
  if (other) {
    Tell(state, "fails, so copies are read", error);  // not of a mirror: that was told above
    SubmitTo(*other, read);
  }
  return other.has_value();
}

// What waits there need not be tried: it completes as cancelled and is repeated.
void Drives::Drop(State& state, const Error& error) {
  for (const auto& [tag, read] : reads_) {
    if (!state.told && &drives_[read.drive] == &state) {
      state.drive.engine->Cancel(tag);
    }
  }
  Tell(state, "is not read any more", error);
}

void Drives::DropHanging() {
  constexpr std::chrono::seconds kLongestLook{1};
  const Clock::time_point now = Clock::now();
  const Clock::duration looked = std::min<Clock::duration>(now - looked_at_, kLongestLook);
  looked_at_ = now;
  for (State& state : drives_) {
    state.silent += looked;
    if (!state.drive.is_mirror || state.waiting_bytes == 0 || state.silent < patience_) {
      continue;
    }
    const Error error{ErrorCode::kIo,
                      fmt::format("none of its reads has ended for {:g} s",
                                  std::chrono::duration<double>(patience_).count())};
    std::erase_if(reads_, [&](const auto& entry) {
      const auto& [tag, read] = entry;
      const bool hangs =
          &drives_[read.drive] == &state && !state.drive.engine->Cancel(tag) && !read.cancelled;
      if (hangs) {
        hanging_.push_back({tag, tl::unexpected(error), /*hangs=*/true});
        state.waiting_bytes -= read.request.destination.size();
      }
      return hangs;
    });
    Tell(state, "is not read any more", error);
  }
}

// Once for each drive.
void Drives::Tell(State& state, std::string_view what, const Error& error) {
  if (!std::exchange(state.told, true) && tell_) {
    tell_(fmt::format("{} {}: {}", state.drive.name, what, error.message));
  }
}

bool Drives::Cancel(uint64_t tag) {
  const auto found = reads_.find(tag);
  if (found == reads_.end()) {
    return false;
  }
  Read& read = found->second;
  const bool cancelled = drives_[read.drive].drive.engine->Cancel(tag);
  read.cancelled = read.cancelled || cancelled;
  return cancelled;
}

bool Drives::Promote(uint64_t tag) {
  const auto found = reads_.find(tag);
  if (found == reads_.end()) {
    return false;
  }
  Read& read = found->second;
  read.request.urgency = Urgency::kDemand;  // when it is repeated, even if it has begun
  return drives_[read.drive].drive.engine->Promote(tag);
}

bool Drives::Close(milliseconds patience) {
  if (!std::exchange(closed_, true)) {
    ended_ = true;
    const auto end = Clock::now() + patience;
    for (State& state : drives_) {
      const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
      ended_ = state.drive.engine->Close(std::max(left, milliseconds(0))) && ended_;
    }
  }
  return ended_;
}

// The time during which any drive was busy is not known: that of the busiest.
IoStats Drives::stats() const {
  IoStats sum;
  for (const State& state : drives_) {
    const IoStats stats = state.drive.engine->stats();
    sum.bytes += stats.bytes;
    sum.busy_us = std::max(sum.busy_us, stats.busy_us);
    sum.direct_reads += stats.direct_reads;
    sum.cached_reads += stats.cached_reads;
  }
  return sum;
}

size_t Drives::depth() const {
  size_t depth = 0;
  for (const State& state : drives_) {
    depth += state.dropped() ? 0 : state.drive.engine->depth();
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

std::unique_ptr<IoEngine> MakeDrives(std::vector<Drive> drives,
                                     std::function<void(const std::string&)> tell,
                                     milliseconds patience) {
  COLI_CHECK(!drives.empty());
  return std::make_unique<Drives>(std::move(drives), std::move(tell), patience);
}

}  // namespace coli
