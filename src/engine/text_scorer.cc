#include "engine/text_scorer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace coli {
namespace {

// Nothing foretells a token without one before it.
uint32_t LeastBefore(const ScoreOptions& score) {
  return std::max(static_cast<uint32_t>(score.beginning.size()), 1U);
}

Status ResolveStride(uint32_t window, ScoreOptions& score) {
  const uint32_t before = LeastBefore(score);
  if (window <= before) {
    return Fail(ErrorCode::kInvalidArgument,
                "the window: expected at least {} tokens, {} of them before the text, found {}",
                before + 1, before, window);
  }
  const uint32_t largest = window - before;
  if (score.stride == 0) {
    score.stride = std::min(std::max(window / 2, 1U), largest);
  }
  if (score.stride > largest) {
    return Fail(ErrorCode::kInvalidArgument,
                "stride: expected 1 to {} tokens for a window of {}, found {}", largest, window,
                score.stride);
  }
  return Ok();
}

}  // namespace

double InformationBits(std::span<const float> logits, TokenId token,
                       SamplerScratch::Softmax softmax, std::vector<float>& scratch) {
  scratch.assign(logits.begin(), logits.end());
  softmax(scratch.data(), scratch.size());
  // Relative to the likeliest token, whose probability cannot underflow.
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  const auto behind = static_cast<double>(*likeliest) -
                      static_cast<double>(logits[static_cast<size_t>(Raw(token))]);
  const auto best = static_cast<double>(scratch[static_cast<size_t>(likeliest - logits.begin())]);
  return behind * std::numbers::log2e - std::log2(best);
}

Result<std::unique_ptr<TextScorer>> TextScorer::Create(EngineOptions options, ScoreOptions score,
                                                       const LoadedModel::Progress& progress) {
  options.logits_for_all_rows = true;
  // Before the weights, which may take minutes.
  COLI_ASSIGN_OR_RETURN(
      const ModelConfig config,
      LoadModelConfig(options.model_dir, ModelOverrides{options.latent_norm_eps}));
  COLI_ASSIGN_OR_RETURN(const uint32_t window, ResolveContext(config, options));
  COLI_RETURN_IF_ERROR(ResolveStride(window, score));
  COLI_ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model, LoadedModel::Load(options, progress));
  COLI_ASSIGN_OR_RETURN(TeacherForcing run, TeacherForcing::Start(*model, window, false));
  return std::unique_ptr<TextScorer>(
      new TextScorer(std::move(model), std::move(run), std::move(score)));
}

TextScorer::TextScorer(std::unique_ptr<LoadedModel> model, TeacherForcing run, ScoreOptions options)
    : model_(std::move(model)),
      run_(std::move(run)),
      options_(std::move(options)),
      window_(options_.beginning),
      scored_(LeastBefore(options_)) {}

Status TextScorer::Add(std::span<const TokenId> tokens, const std::function<void()>& stepped) {
  for (const TokenId token : tokens) {
    if (Raw(token) < 0 || static_cast<uint32_t>(Raw(token)) >= config().vocab_size) {
      return Fail(ErrorCode::kInvalidArgument,
                  "token {} of the text is outside the model's vocabulary of {}", Raw(token),
                  config().vocab_size);
    }
    if (window_.size() == window()) {
      COLI_RETURN_IF_ERROR(ScoreWindow(stepped));
      const auto text = window_.begin() + static_cast<std::ptrdiff_t>(options_.beginning.size());
      window_.erase(text, text + options_.stride);
      scored_ = static_cast<uint32_t>(window_.size());
    }
    window_.push_back(token);
    ++score_.tokens;
  }
  return Ok();
}

Status TextScorer::Finish(const std::function<void()>& stepped) {
  return window_.size() > scored_ ? ScoreWindow(stepped) : Ok();
}

// Scores the tokens of the window from scored_ on.
Status TextScorer::ScoreWindow(const std::function<void()>& stepped) {
  run_.Restart();
  TeacherForcing::StepOptions step_options;
  step_options.logits_from = scored_ - 1;
  step_options.cancelled = options_.cancelled;
  // Nothing asks what comes after the last token.
  const auto known = std::span<const TokenId>(window_).first(window_.size() - 1);
  while (run_.positions() < known.size()) {
    const auto rest = known.subspan(run_.positions());
    const auto tokens = rest.first(std::min<size_t>(rest.size(), model_->plan().prefill_rows));
    COLI_ASSIGN_OR_RETURN(const StepResult step, run_.Run(tokens, step_options));
    if (options_.cancelled && options_.cancelled()) {
      return Fail(ErrorCode::kCancelled, "cancelled");
    }
    COLI_RETURN_IF_ERROR(TakeRows(step));
    if (stepped) {
      stepped();
    }
  }
  return Ok();
}

Status TextScorer::TakeRows(const StepResult& step) {
  for (size_t r = 0; r < step.rows.size(); ++r) {
    const TokenId token = window_[step.rows[r].position + 1];
    const double bits = InformationBits({step.logits.row(r), step.logits.cols}, token,
                                        model_->kernels().vector.softmax, probabilities_);
    if (!std::isfinite(bits)) {
      return Fail(ErrorCode::kNumeric, "token {} of the text: a logit before it is not finite",
                  score_.scored_tokens);
    }
    score_.bits += bits;
    ++score_.scored_tokens;
  }
  return Ok();
}

}  // namespace coli
