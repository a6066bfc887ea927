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

std::vector<float> Gaussian(uint64_t seed, uint64_t stream, uint32_t count) {
  std::mt19937_64 generator(MixSeeds(seed, stream));
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(generator);
  }
  return values;
}

std::vector<std::vector<float>> Topics(uint64_t seed, uint32_t hidden) {
  std::vector<std::vector<float>> topics;
  for (uint32_t topic = 0; topic < kTopics; ++topic) {
    topics.push_back(Gaussian(seed, kTopicPart + topic, hidden));
  }
  return topics;
}

void Add(float weight, const std::vector<float>& part, std::span<float> row) {
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] += weight * part[i];
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

uint32_t TopicOf(uint32_t token) { return token % kTopics; }

Result<TokenMatrix> MakeEmbedding(uint32_t tokens, uint32_t hidden, uint64_t seed) {
  const std::vector<float> common = Gaussian(seed, kCommonPart, hidden);
  const std::vector<std::vector<float>> topics = Topics(seed, hidden);
  return MakeRows(tokens, hidden, [&](uint32_t token, std::span<float> row) {
    Add(kCommon, common, row);
    Add(kTopic, topics[TopicOf(token)], row);
    Add(kOwn, Gaussian(seed, kTokenPart + token, hidden), row);
  });
}

Result<TokenMatrix> MakeHead(uint32_t tokens, uint32_t hidden, uint64_t seed) {
  // A topic's part meets itself in the hidden state: its product grows with the width, the square
  // root of which the own part gives.
  const float scale = kLogitDeviation / std::sqrt(static_cast<float>(hidden));
  const float topic = 2 / std::sqrt(static_cast<float>(hidden));
  const std::vector<std::vector<float>> topics = Topics(seed, hidden);
  return MakeRows(tokens, hidden, [&](uint32_t token, std::span<float> row) {
    Add(scale * topic, topics[TopicOf(token)], row);
    Add(scale, Gaussian(seed, kHeadPart + token, hidden), row);
  });
}

}  // namespace coli
