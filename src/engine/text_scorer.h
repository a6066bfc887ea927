// How well a model foretells a text: the information content of its tokens, each given the tokens
// before it in a sliding window.
//
// A window is the beginning-of-text tokens and the tokens of the text that fit behind them. The
// first window scores all of its text; each later one begins `stride` tokens further on and scores
// the last `stride` of its tokens. So every token is scored once, and all but those of the first
// window with at least window - stride tokens before it. A window is computed anew: positions
// differ from those of the window before. Without beginning-of-text tokens nothing foretells the
// first token of the text, which is not scored.
//
// The figures depend on model, tokens, window and stride only: not on threads, on the prefill chunk
// or on the pieces that Add gets. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/loaded_model.h"
#include "engine/options.h"
#include "engine/sampler.h"
#include "engine/teacher_forcing.h"

namespace coli {

struct ScoreOptions {
  std::vector<TokenId> beginning;        // of every window; may be empty
  uint32_t stride = 0;                   // tokens; 0: half of the window, at least 1
  std::function<bool()> cancelled = {};  // asked between layers
};

struct TextScore {
  uint64_t tokens = 0;         // of the text, computed so far
  uint64_t scored_tokens = 0;  // all, or all but the first
  double bits = 0;             // the sum of -log2 p of the scored tokens
};

class TextScorer {
 public:
  // Loads the model of `options`, whose context is the window. Errors: as LoadedModel;
  // kInvalidArgument for a stride that the window has no room for.
  static Result<std::unique_ptr<TextScorer>> Create(EngineOptions options, ScoreOptions score,
                                                    const LoadedModel::Progress& progress = {});

  // The next tokens of the text. Errors: kInvalidArgument for a token outside the vocabulary;
  // kCancelled; kNumeric for logits that are not finite; kIo of an expert.
  // `stepped`, if given, is called whenever score() may have grown.
  Status Add(std::span<const TokenId> tokens, const std::function<void()>& stepped = {});
  // The end of the text: scores what is left.
  Status Finish(const std::function<void()>& stepped = {});

  const TextScore& score() const { return score_; }
  uint32_t window() const { return model_->plan().context; }
  uint32_t stride() const { return options_.stride; }
  const ModelConfig& config() const { return model_->config(); }
  EngineMode mode() const { return model_->mode(); }
  std::vector<std::string> TakeNotices() { return model_->TakeNotices(); }  // as LoadedModel

 private:
  TextScorer(std::unique_ptr<LoadedModel> model, TeacherForcing run, ScoreOptions options);
  Status ScoreWindow(const std::function<void()>& stepped);
  Status TakeRows(const StepResult& step);

  std::unique_ptr<LoadedModel> model_;
  TeacherForcing run_;
  ScoreOptions options_;
  std::vector<TokenId> window_;  // the beginning, then tokens of the text
  uint32_t scored_ = 0;          // tokens of window_ that need no score any more
  std::vector<float> probabilities_;
  TextScore score_;
};

// -log2 of the probability that `logits` give `token`: the bits an ideal coder would need for it.
// `scratch` becomes the probabilities. Not finite when a logit is not. Pure.
double InformationBits(std::span<const float> logits, TokenId token,
                       SamplerScratch::Softmax softmax, std::vector<float>& scratch);

}  // namespace coli
