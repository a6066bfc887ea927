#include "sys/io_faulty.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "sys/read_queue.h"

namespace coli {
namespace {

class IoFaulty final : public IoEngine {
 public:
  IoFaulty(std::unique_ptr<IoEngine> inner, FaultScript script)
      : inner_(std::move(inner)),
        script_(std::move(script)),
        random_(script_.shuffle_seed.value_or(0)) {}

  void Submit(const ReadRequest& request) override;
  std::optional<ReadCompletion> Wait(std::chrono::milliseconds patience) override;
  std::optional<ReadCompletion> Poll() override;
  bool Cancel(uint64_t tag) override;
  bool Promote(uint64_t tag) override;
  bool Close(std::chrono::milliseconds patience) override;
  size_t in_flight() const override { return planned_.size() + held_.size(); }
  IoStats stats() const override { return inner_->stats(); }
  std::string_view name() const override { return "faulty"; }
  size_t depth() const override { return script_.depth; }

 private:
  struct Planned {
    uint64_t tag;  // the caller's
    ReadFault fault;
  };
  struct Held {
    ReadFault fault;
    ReadCompletion completion;
  };

  void Begin();
  Held Finish(const ReadRequest& request, ReadFault fault);
  std::optional<uint64_t> NumberOf(uint64_t tag) const;
  void PassOneTurn();
  std::optional<Held> TakeEligible(bool may_wait);

  std::unique_ptr<IoEngine> inner_;
  FaultScript script_;
  std::mt19937_64 random_;
  size_t submitted_ = 0;
  std::map<std::pair<const File*, uint64_t>, size_t> repetitions_;
  // Reads that have not begun; their tags are numbers. None is ever at the drive for it.
  ReadQueue queue_{std::numeric_limits<size_t>::max()};
  std::map<uint64_t, Planned> planned_;  // of those, and of the cancelled, by number
  std::vector<Held> held_;               // finished, in the order in which they began
};

void IoFaulty::Submit(const ReadRequest& request) {
  const size_t number = submitted_++;
  const size_t repetition = repetitions_[{request.file, request.offset}]++;
  planned_[number] = {request.tag,
                      script_.decide ? script_.decide({number, repetition, request}) : ReadFault{}};
  ReadRequest numbered = request;
  numbered.tag = number;
  queue_.Push(numbered);
}

void IoFaulty::Begin() {
  while (const auto cancelled = queue_.Poll()) {
    const auto entry = planned_.extract(cancelled->tag);
    held_.push_back({{}, {entry.mapped().tag, cancelled->status}});
  }
  while (held_.size() < script_.depth) {
    const auto request = queue_.Take();
    if (!request) {
      return;
    }
    const auto entry = planned_.extract(request->tag);
    Held held = Finish(*request, std::move(entry.mapped().fault));
    held.completion.tag = entry.mapped().tag;
    held_.push_back(std::move(held));
  }
}

IoFaulty::Held IoFaulty::Finish(const ReadRequest& request, ReadFault fault) {
  ReadRequest part = request;
  if (fault.error) {
    part.destination =
        part.destination.first(std::min(fault.bytes_before_error, part.destination.size()));
  }
  inner_->Submit(part);
  std::optional<ReadCompletion> done;
  while (!done) {
    done = inner_->Wait(std::chrono::seconds(1));
  }
  if (fault.error && done->status) {
    done->status = tl::unexpected<Error>(*fault.error);
  }
  return {std::move(fault), *std::move(done)};
}

std::optional<uint64_t> IoFaulty::NumberOf(uint64_t tag) const {
  const auto found =
      std::ranges::find_if(planned_, [&](const auto& e) { return e.second.tag == tag; });
  return found == planned_.end() ? std::nullopt : std::optional(found->first);
}

bool IoFaulty::Cancel(uint64_t tag) {
  const auto number = NumberOf(tag);
  return number && queue_.Cancel(*number);
}

bool IoFaulty::Promote(uint64_t tag) {
  const auto number = NumberOf(tag);
  return number && queue_.Promote(*number);
}

bool IoFaulty::Close(std::chrono::milliseconds patience) {
  queue_.Close(std::chrono::milliseconds(0));
  const bool hangs = std::ranges::any_of(held_, [](const Held& held) { return held.fault.hang; });
  return inner_->Close(patience) && !hangs;
}

void IoFaulty::PassOneTurn() {
  for (Held& held : held_) {
    held.fault.hold_back -= std::min<size_t>(held.fault.hold_back, 1);
  }
}

std::optional<IoFaulty::Held> IoFaulty::TakeEligible(bool may_wait) {
  std::vector<size_t> eligible;
  for (size_t i = 0; i < held_.size(); ++i) {
    const ReadFault& fault = held_[i].fault;
    if (!fault.hang && fault.hold_back == 0 && (may_wait || fault.delay.count() == 0)) {
      eligible.push_back(i);
    }
  }
  PassOneTurn();
  if (eligible.empty()) {
    return std::nullopt;
  }
  const size_t chosen = eligible[script_.shuffle_seed ? random_() % eligible.size() : 0];
  Held held = std::move(held_[chosen]);
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(chosen));
  return held;
}

std::optional<ReadCompletion> IoFaulty::Wait(std::chrono::milliseconds patience) {
  Begin();
  const auto hangs = [](const Held& held) { return held.fault.hang; };
  while (!std::ranges::all_of(held_, hangs)) {
    auto held = TakeEligible(true);
    if (!held) {
      continue;
    }
    if (held->fault.delay > patience) {
      std::this_thread::sleep_for(patience);
      held->fault.delay -= patience;
      held_.push_back(*std::move(held));
      return std::nullopt;
    }
    std::this_thread::sleep_for(held->fault.delay);
    return std::move(held->completion);
  }
  if (!held_.empty()) {
    std::this_thread::sleep_for(patience);
  }
  return std::nullopt;
}

std::optional<ReadCompletion> IoFaulty::Poll() {
  Begin();
  auto held = TakeEligible(false);
  return held ? std::optional(std::move(held->completion)) : std::nullopt;
}

}  // namespace

FaultScript FailFirst(size_t times, Error error) {
  FaultScript script;
  script.decide = [times, error = std::move(error)](const ReadAttempt& attempt) {
    ReadFault fault;
    if (attempt.repetition < times) {
      fault.error = error;
    }
    return fault;
  };
  return script;
}

std::unique_ptr<IoEngine> MakeIoFaulty(std::unique_ptr<IoEngine> inner, FaultScript script) {
  return std::make_unique<IoFaulty>(std::move(inner), std::move(script));
}

}  // namespace coli
