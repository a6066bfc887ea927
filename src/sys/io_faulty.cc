#include "sys/io_faulty.h"

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace coli {
namespace {

class IoFaulty final : public IoEngine {
 public:
  IoFaulty(std::unique_ptr<IoEngine> inner, FaultScript script)
      : inner_(std::move(inner)),
        script_(std::move(script)),
        random_(script_.shuffle_seed.value_or(0)) {}

  void Submit(const ReadRequest& request) override;
  ReadCompletion Wait() override;
  std::optional<ReadCompletion> Poll() override;
  size_t in_flight() const override { return inner_->in_flight() + held_.size(); }
  std::string_view name() const override { return "faulty"; }

 private:
  struct Held {
    size_t number;
    ReadFault fault;
    ReadCompletion completion;
  };

  void CollectInner();
  void PassOneTurn();
  std::optional<ReadCompletion> TakeEligible(bool may_wait);

  std::unique_ptr<IoEngine> inner_;
  FaultScript script_;
  std::mt19937_64 random_;
  size_t submitted_ = 0;
  std::map<std::pair<const File*, uint64_t>, size_t> repetitions_;
  std::map<size_t, std::pair<uint64_t, ReadFault>>
      running_;             // number -> the caller's tag, what to do afterwards
  std::vector<Held> held_;  // finished, by number
};

void IoFaulty::Submit(const ReadRequest& request) {
  const size_t number = submitted_++;
  const size_t repetition = repetitions_[{request.file, request.offset}]++;
  ReadFault fault = script_.decide ? script_.decide({number, repetition, request}) : ReadFault{};
  if (!fault.error) {
    running_[number] = {request.tag, std::move(fault)};
    inner_->Submit({request.file, request.offset, request.destination, number});
    return;
  }
  const size_t arrived = std::min(fault.bytes_before_error, request.destination.size());
  Status status = request.file->ReadExact(request.offset, request.destination.first(arrived));
  if (status) {
    status = tl::unexpected<Error>(*fault.error);
  }
  held_.push_back({number, std::move(fault), {request.tag, std::move(status)}});
}

void IoFaulty::CollectInner() {
  while (inner_->in_flight() > 0) {
    ReadCompletion done = inner_->Wait();
    const auto entry = running_.extract(static_cast<size_t>(done.tag));
    COLI_CHECK(!entry.empty());
    held_.push_back(
        {entry.key(), entry.mapped().second, {entry.mapped().first, std::move(done.status)}});
  }
  std::sort(held_.begin(), held_.end(),
            [](const Held& a, const Held& b) { return a.number < b.number; });
}

void IoFaulty::PassOneTurn() {
  for (Held& held : held_) {
    held.fault.hold_back -= std::min<size_t>(held.fault.hold_back, 1);
  }
}

std::optional<ReadCompletion> IoFaulty::TakeEligible(bool may_wait) {
  std::vector<size_t> eligible;
  for (size_t i = 0; i < held_.size(); ++i) {
    const ReadFault& fault = held_[i].fault;
    if (fault.hold_back == 0 && (may_wait || fault.delay.count() == 0)) {
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
  std::this_thread::sleep_for(held.fault.delay);
  return std::move(held.completion);
}

ReadCompletion IoFaulty::Wait() {
  CollectInner();
  COLI_CHECK(!held_.empty());
  while (true) {
    if (auto completion = TakeEligible(true)) {
      return *std::move(completion);
    }
  }
}

std::optional<ReadCompletion> IoFaulty::Poll() {
  CollectInner();
  return TakeEligible(false);
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
