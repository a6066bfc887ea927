// From logits to a token. Pure: the same logits, options and token index give the same token on
// every machine, whatever was sampled before and whoever else is served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace coli {

// What a request may choose. The steps are applied in the order of the fields; the defaults sample
// from the model's own distribution.
struct SamplingOptions {
  float temperature = 1.0F;  // [0, 100]; 0: the largest logit, the lowest token among equals
  uint32_t top_k = 0;        // keep the k likeliest tokens; 0: all
  float top_p = 1.0F;  // [0, 1]; keep the shortest run of likeliest tokens with at least this share
                       // of what is left
  float min_p = 0.0F;  // [0, 1]; keep tokens at least this fraction as likely as the likeliest
  uint64_t seed = 0;
};

// kInvalidArgument, naming field and value, for options out of their ranges.
Status CheckSamplingOptions(const SamplingOptions& options);

// Working memory for vocabularies of up to `vocab_size` tokens; Sample allocates nothing. One
// thread at a time.
struct SamplerScratch {
  // x becomes its softmax: VectorKernels::softmax of any kernel table, which all give the same
  // bits.
  using Softmax = void (*)(float* x, size_t n);

  SamplerScratch(size_t vocab_size, Softmax softmax_kernel);

  Softmax softmax;
  std::vector<float> probabilities;  // by token
  std::vector<int32_t>
      tokens;  // a heap, the likeliest on top, then what was taken from it, the first taken last
};

// The token that follows. `logits`: one per token, at most as many as the scratch has room for. A
// token that must not be chosen has the lowest finite logit, -FLT_MAX. `token_index` counts the
// tokens of this answer from 0: the one random number a token costs depends on it and the seed
// only, so rejected drafts and interruptions never shift the stream. Errors: kNumeric for a logit
// that is not finite, naming the token. `options` must have passed CheckSamplingOptions.
Result<TokenId> Sample(std::span<const float> logits, const SamplingOptions& options,
                       uint64_t token_index, SamplerScratch& scratch);

// The random number behind a token, uniform in [0, 1).
double UniformDraw(uint64_t seed, uint64_t token_index);

}  // namespace coli
