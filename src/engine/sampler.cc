#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace coli {
namespace {

// A total order, so that the sequence does not depend on how the library builds heaps.
struct LessLikely {
  const float* probabilities;
  bool operator()(int32_t a, int32_t b) const {
    return probabilities[a] != probabilities[b] ? probabilities[a] < probabilities[b] : a > b;
  }
};

// The tokens of a distribution, the likeliest first and the lower token first among equals, sorted
// only as far as somebody looks: a draw rarely needs more than a few of a large vocabulary.
class Descending {
 public:
  Descending(SamplerScratch& scratch, size_t size) : scratch_(scratch), size_(size), heaped_(size) {
    std::iota(At(0), At(size), 0);
    std::make_heap(At(0), At(size), Order());
  }

  size_t size() const { return size_; }

  TokenId token(size_t rank) {
    for (; size_ - heaped_ <= rank; --heaped_) {
      std::pop_heap(At(0), At(heaped_), Order());
    }
    return TokenId{scratch_.tokens[size_ - 1 - rank]};
  }

  double probability(size_t rank) {
    return double{scratch_.probabilities[static_cast<size_t>(Raw(token(rank)))]};
  }

 private:
  LessLikely Order() const { return {scratch_.probabilities.data()}; }
  std::vector<int32_t>::iterator At(size_t index) {
    return scratch_.tokens.begin() + static_cast<ptrdiff_t>(index);
  }

  SamplerScratch& scratch_;
  size_t size_;
  size_t heaped_;  // tokens that are still in the heap; the others follow it, the likeliest last
};

// The likeliest `count` tokens and what their probabilities add up to.
struct Kept {
  size_t count;
  double mass;
};

// Keeps tokens, at most `limit`, as long as `wants(what is kept already, probability of the next)`.
template <class Wants>
Kept KeepWhile(Descending& order, size_t limit, Wants wants) {
  Kept kept{0, 0};
  while (kept.count < limit && wants(kept, order.probability(kept.count))) {
    kept.mass += order.probability(kept.count);
    ++kept.count;
  }
  return kept;
}

Kept Truncate(const SamplingOptions& options, double total, Descending& order) {
  Kept kept{order.size(), total};
  if (options.top_k > 0 && options.top_k < kept.count) {
    kept = KeepWhile(order, options.top_k, [](const Kept&, double) { return true; });
  }
  if (options.top_p < 1) {
    const double share = double{options.top_p} * kept.mass;
    kept = KeepWhile(order, kept.count, [&](const Kept& so_far, double) {
      return so_far.count == 0 || so_far.mass < share;
    });
  }
  if (options.min_p > 0) {
    const double floor = double{options.min_p} * order.probability(0);
    kept = KeepWhile(order, kept.count,
                     [&](const Kept&, double probability) { return probability >= floor; });
  }
  return kept;
}

// The token at `point`, in [0, 1), of the kept probabilities laid end to end.
TokenId Pick(const Kept& kept, double point, Descending& order) {
  const double target = point * kept.mass;
  TokenId last = order.token(0);
  double sum = 0;
  for (size_t rank = 0; rank < kept.count && order.probability(rank) > 0; ++rank) {
    last = order.token(rank);
    sum += order.probability(rank);
    if (sum > target) {
      break;
    }
  }
  return last;  // also when rounding left the sum of all a little below the target
}

// The largest logit, the lowest token among equals.
Result<size_t> FindLargest(std::span<const float> logits) {
  size_t largest = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      return Fail(ErrorCode::kNumeric, "logits: token {}: expected a finite number, found {}", i,
                  logits[i]);
    }
    if (logits[i] > logits[largest]) {
      largest = i;
    }
  }
  return largest;
}

// The output function of SplitMix64 (Steele, Lea, Flood 2014), a bijection of 64 bits.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

template <class T>
Status CheckRange(const char* name, T value, T min, T max) {
  if (value >= min && value <= max) {
    return Ok();
  }
  return Fail(ErrorCode::kInvalidArgument, "{}: expected a number in [{}, {}], found {}", name, min,
              max, value);
}

}  // namespace

Status CheckSamplingOptions(const SamplingOptions& options) {
  COLI_RETURN_IF_ERROR(CheckRange("temperature", options.temperature, 0.0F, 100.0F));
  COLI_RETURN_IF_ERROR(CheckRange("top_p", options.top_p, 0.0F, 1.0F));
  return CheckRange("min_p", options.min_p, 0.0F, 1.0F);
}

SamplerScratch::SamplerScratch(size_t vocab_size, Softmax softmax_kernel)
    : softmax(softmax_kernel), probabilities(vocab_size), tokens(vocab_size) {}

// The token index is SplitMix64's counter; mixing the seed first sets the streams of neighbouring
// seeds far apart.
double UniformDraw(uint64_t seed, uint64_t token_index) {
  constexpr uint64_t kGamma = 0x9E3779B97F4A7C15U;
  const uint64_t bits = Mix(Mix(seed + kGamma) + (token_index + 1) * kGamma);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Result<TokenId> Sample(std::span<const float> logits, const SamplingOptions& options,
                       uint64_t token_index, SamplerScratch& scratch) {
  COLI_CHECK(!logits.empty() && logits.size() <= scratch.tokens.size());
  COLI_ASSIGN_OR_RETURN(const size_t largest, FindLargest(logits));
  if (options.temperature == 0) {
    return TokenId{static_cast<int32_t>(largest)};
  }

  // Below this the probability is zero at any vocabulary; the bound keeps infinities out of the
  // kernel.
  constexpr float kLowest = -1000;
  for (size_t i = 0; i < logits.size(); ++i) {
    scratch.probabilities[i] =
        std::max((logits[i] - logits[largest]) / options.temperature, kLowest);
  }
  scratch.softmax(scratch.probabilities.data(), logits.size());
  const auto end = scratch.probabilities.begin() + static_cast<ptrdiff_t>(logits.size());
  const double total = std::accumulate(scratch.probabilities.begin(), end, 0.0);

  Descending order(scratch, logits.size());
  const Kept kept = Truncate(options, total, order);
  return Pick(kept, UniformDraw(options.seed, token_index), order);
}

}  // namespace coli
