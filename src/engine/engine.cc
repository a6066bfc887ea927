#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/loaded_model.h"
#include "engine/memory_keeper.h"
#include "engine/scheduler.h"
#include "engine/usage_keeper.h"
#include "sys/memory_meter.h"

namespace coli {
namespace {

// How long the engine sleeps when every reader is behind.
constexpr std::chrono::milliseconds kStallPause{2};
// How often an idle engine looks for experts that have arrived.
constexpr std::chrono::milliseconds kWarmingPause{5};

MemoryWatchLimits MemoryLimits(LoadedModel& model) {
  const MemoryPlan& plan = model.plan();
  return WatchLimits(model.experts().least_budget_bytes(), plan.expert_cache_bytes, plan.total(),
                     AvailableMemoryBytes() + ReadMemoryUse().resident_bytes);
}

class EngineThread final : public Engine {
 public:
  EngineThread(std::unique_ptr<LoadedModel> model, const std::filesystem::path& state_dir)
      : model_(std::move(model)),
        mode_(model_->mode()),
        memory_(MemoryLimits(*model_),
                [this](uint64_t bytes) { model_->experts().SetBudget(bytes); }) {
    if (UsageCounter* usage = model_->usage()) {
      keeper_.emplace(
          UsageFile(state_dir, ModelFingerprint(model_->container()), usage->experts_by_layer()),
          *usage);
      model_->experts().Warm(keeper_->Load());
    }
    PublishNotices();
    thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
  }

  ~EngineThread() override { EngineThread::Stop(); }

  void Stop() override {
    if (thread_.joinable()) {
      thread_.request_stop();
      CancelStreams();  // so that a step in progress ends within a layer
      changed_.notify_one();
      thread_.join();
    }
  }

  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) override {
    COLI_RETURN_IF_ERROR(Check(request));
    auto stream = std::make_shared<TokenStream>();
    auto sequence = std::make_unique<Sequence>(std::move(request), stream);
    {
      const std::lock_guard lock(mutex_);
      submitted_.push_back(std::move(sequence));
      std::erase_if(streams_, [](const auto& held) { return held.expired(); });
      streams_.push_back(stream);
    }
    changed_.notify_one();
    return stream;
  }

  SessionHandle OpenSession() override { return std::make_shared<Session>(); }
  const ModelConfig& config() const override { return model_->config(); }
  uint32_t context() const override { return model_->plan().context; }
  EngineMode mode() const override { return mode_; }
  Warming warming() const override {
    const ExpertStore::WarmBytes bytes = model_->experts().warm_bytes();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
    return {.done_bytes = bytes.done, .total_bytes = bytes.total, .seconds = passed.count()};
  }

  std::vector<std::string> TakeNotices() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(notices_, {});
  }

 private:
  Status Check(const GenerationRequest& request) const {
    COLI_RETURN_IF_ERROR(CheckSamplingOptions(request.sampling));
    if (request.prompt.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "the prompt is empty");
    }
    for (const TokenId token : request.prompt) {
      if (Raw(token) < 0 || static_cast<uint32_t>(Raw(token)) >= config().vocab_size) {
        return Fail(ErrorCode::kInvalidArgument,
                    "token {} of the prompt is outside the model's vocabulary of {}", Raw(token),
                    config().vocab_size);
      }
    }
    if (request.prompt.size() >= context()) {
      return Fail(ErrorCode::kContextLength,
                  "the prompt has {} tokens and the context is {} positions: no room for an answer",
                  request.prompt.size(), context());
    }
    return Ok();
  }

  void Loop(const std::stop_token& stop) {
    Scheduler scheduler(*model_);
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock(mutex_);
        const auto ready = [&] { return !submitted_.empty(); };
        if (scheduler.idle() && model_->experts().left_to_warm() > 0) {
          changed_.wait_for(lock, stop, kWarmingPause, ready);
        } else if (scheduler.idle()) {
          changed_.wait(lock, stop, ready);
        } else if (stalled_) {
          changed_.wait_for(lock, stop, kStallPause, ready);
        }
        TakeSubmitted(scheduler);
      }
      stalled_ = !Step(scheduler);
      model_->experts().Pump();  // those that are warmed arrive, and the next ones are asked for
      const auto now = std::chrono::steady_clock::now();
      memory_.AfterStep(now, scheduler.decode_work());
      if (keeper_) {
        keeper_->AfterStep(now);
      }
      PublishNotices();
    }
    {
      const std::lock_guard lock(mutex_);
      TakeSubmitted(scheduler);
      scheduler.CancelAll();
    }
    if (keeper_) {
      keeper_->Save();
    }
    PublishNotices();
    if (const Status whole = model_->FinishTrace(); !whole) {
      const std::lock_guard lock(mutex_);
      notices_.push_back(whole.error().message);
    }
  }

  void PublishNotices() {
    Publish(model_->TakeNotices());
    if (const auto error = model_->experts().TakeWarmingError()) {
      Publish({"experts of earlier runs are not all read ahead: " + error->message});
    }
    if (keeper_) {
      Publish(keeper_->TakeNotices());
    }
    Publish(memory_.TakeNotices());
  }

  void Publish(std::vector<std::string> notices) {
    if (!notices.empty()) {
      const std::lock_guard lock(mutex_);
      std::ranges::move(notices, std::back_inserter(notices_));
    }
  }

  void CancelStreams() {
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<TokenStream>& held : streams_) {
      if (const std::shared_ptr<TokenStream> stream = held.lock()) {
        stream->Cancel();
      }
    }
  }

  // The standard library throws where it has no memory; that must cost the requests, not the
  // process.
  static bool Step(Scheduler& scheduler) {
    try {
      return scheduler.Step();
    } catch (const std::exception& failure) {
      scheduler.FailAll({ErrorCode::kNotEnoughMemory, fmt::format("engine: {}", failure.what())});
      return false;
    }
  }

  void TakeSubmitted(Scheduler& scheduler) {
    while (!submitted_.empty()) {
      scheduler.Enqueue(std::move(submitted_.front()));
      submitted_.pop_front();
    }
  }

  const std::unique_ptr<LoadedModel> model_;
  const EngineMode mode_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  MemoryKeeper memory_;                // engine thread, once that runs
  std::optional<UsageKeeper> keeper_;  // engine thread, once that runs
  std::mutex mutex_;                   // guards submitted_, streams_ and notices_
  std::condition_variable_any changed_;
  std::deque<std::unique_ptr<Sequence>> submitted_;  // the request queue
  std::vector<std::weak_ptr<TokenStream>> streams_;  // of all requests that may still run
  std::vector<std::string> notices_;
  bool stalled_ = false;  // engine thread: the last step had nothing to compute
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Create(const EngineOptions& options,
                                               const Progress& progress) {
  COLI_ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model, LoadedModel::Load(options, progress));
  return std::make_unique<EngineThread>(std::move(model), options.state_dir);
}

}  // namespace coli
