#include "engine/usage_keeper.h"

#include <algorithm>
#include <utility>

namespace coli {
namespace {

// Experts that 256 tokens ask a layer for in a model of eight experts a token.
constexpr double kHalfWeightUses = 2048;

uint64_t UsesOfBusiestLayer(const UsageTable& work) {
  uint64_t most = 0;
  for (const auto& layer : work) {
    uint64_t uses = 0;
    for (const ExpertUsage& expert : layer) {
      uses += expert.uses;
    }
    most = std::max(most, uses);
  }
  return most;
}

}  // namespace

double WeightOfWork(const UsageTable& work) {
  const auto uses = static_cast<double>(UsesOfBusiestLayer(work));
  return uses / (uses + kHalfWeightUses);
}

std::vector<ExpertKey> UsageKeeper::Load() {
  const Result<UsageTable> usage = file_.Load();
  if (!usage) {
    notices_.push_back(fmt::format("usage statistics are not used: {}", usage.error().message));
    told_ = true;
    return {};
  }
  return InOrderOfWorth(*usage);
}

void UsageKeeper::AfterStep(Clock::time_point now) {
  if (!saved_at_) {
    saved_at_ = now;
  }
  if (now - *saved_at_ >= kInterval) {
    saved_at_ = now;
    Save();
  }
}

void UsageKeeper::Save() {
  const UsageTable work = counter_->Work();
  if (UsesOfBusiestLayer(work) == 0) {
    return;
  }
  const Status saved = file_.Add(work, WeightOfWork(work));
  if (saved) {
    counter_->Forget();
    return;
  }
  if (!std::exchange(told_, true)) {
    notices_.push_back(fmt::format("usage statistics are not saved: {}", saved.error().message));
  }
}

std::vector<std::string> UsageKeeper::TakeNotices() { return std::exchange(notices_, {}); }

}  // namespace coli
