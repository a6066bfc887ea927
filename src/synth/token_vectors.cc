#include "synth/token_vectors.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "synth/row_pool.h"
#include "tensor/format.h"
#include "tensor/quantize.h"

namespace coli {
namespace {

constexpr uint32_t kTopics = 24;
// Weights of the parts, whose squares add to 1.
constexpr float kCommon = 0.6F;
constexpr float kTopic = 0.6F;
constexpr float kOwn = 0.529F;
constexpr float kLogitDeviation = 2;

// The streams of random numbers, by what they are for.
enum Stream : uint64_t {
  kCommonPart = 1,
  kTopicPart = 2,
  kTokenPart = 1'000'000,
  kHeadPart = 2'000'000'000
};

void AddGaussian(uint64_t seed, uint64_t stream, float weight, std::span<float> row) {
  std::mt19937_64 generator(MixSeeds(seed, stream));
  std::normal_distribution<float> normal;
  for (float& value : row) {
    value += weight * normal(generator);
  }
}

// Calls fill(token, row) for each row, zero before, and quantises it.
template <class Fill>
Result<TokenMatrix> MakeRows(uint32_t tokens, uint32_t hidden, const Fill& fill) {
  const Format format{FormatId::kInt8Row};
  TokenMatrix matrix;
  matrix.codes.resize(CodeBytes(format, tokens, hidden).value());
  matrix.scales.resize(ScaleBytes(format, tokens, hidden).value());
  const QuantizedMatrix out{matrix.codes.data(), matrix.scales.data(), tokens, hidden, format};
  std::vector<float> row(hidden);
  for (uint32_t token = 0; token < tokens; ++token) {
    std::fill(row.begin(), row.end(), 0.0F);
    fill(token, std::span(row));
    COLI_RETURN_IF_ERROR(QuantizeRows({row.data(), 1, hidden, hidden}, token, out));
  }
  return matrix;
}

}  // namespace

Result<TokenMatrix> MakeEmbedding(uint32_t tokens, uint32_t hidden, uint64_t seed) {
  return MakeRows(tokens, hidden, [&](uint32_t token, std::span<float> row) {
    AddGaussian(seed, kCommonPart, kCommon, row);
    AddGaussian(seed, kTopicPart + token % kTopics, kTopic, row);
    AddGaussian(seed, kTokenPart + token, kOwn, row);
  });
}

Result<TokenMatrix> MakeHead(uint32_t tokens, uint32_t hidden, uint64_t seed) {
  // A topic's part meets itself in the hidden state: its product grows with the width, the square
  // root of which the own part gives.
  const float scale = kLogitDeviation / std::sqrt(static_cast<float>(hidden));
  const float topic = 2 / std::sqrt(static_cast<float>(hidden));
  return MakeRows(tokens, hidden, [&](uint32_t token, std::span<float> row) {
    AddGaussian(seed, kTopicPart + token % kTopics, scale * topic, row);
    AddGaussian(seed, kHeadPart + token, scale, row);
  });
}

}  // namespace coli
