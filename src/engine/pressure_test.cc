// The same numbers, whatever the cache holds and whatever the drive does: decoding with budgets
// around what one token needs, while reads are late, out of order and fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/check.h"
#include "engine/sampler.h"
#include "engine/testing/golden.h"
#include "sys/io_faulty.h"
#include "sys/io_threads.h"

namespace coli {
namespace {

using testing::GoldenOptions;
using ::testing::HasSubstr;

constexpr size_t kSteps = 256;

// The bits of a step's logits.
using Fingerprint = size_t;
Fingerprint FingerprintOf(std::span<const float> logits) {
  return std::hash<std::string_view>{}(
      {reinterpret_cast<const char*>(logits.data()), logits.size_bytes()});
}

struct Decoded {
  std::vector<Fingerprint> steps;
  uint64_t asked = 0;  // experts
  ExpertStoreStats stats;
  size_t slots_without_expert = 0;
  uint64_t held_bytes = 0;
  uint64_t budget_bytes = 0;
};

// One token after the other, each chosen from the logits before it.
Decoded Decode(LoadedModel& model, float temperature) {
  Decoded result;
  auto cache = KvCache::Create(model.config(), {.capacity = kSteps + 1});
  COLI_CHECK(cache.has_value());
  SamplerScratch scratch(model.config().vocab_size, model.kernels().vector.softmax);
  const SamplingOptions sampling{.temperature = temperature, .seed = 7};
  TokenId token{5};
  for (size_t i = 0; i < kSteps; ++i) {
    Batch batch;
    batch.caches.push_back(&*cache);
    batch.rows.push_back({0, token, static_cast<uint32_t>(i), true});
    const auto step = model.forward().Run(std::move(batch));
    if (!step) {
      ADD_FAILURE() << step.error().message;
      return result;
    }
    const std::span<const float> logits(step->logits.row(0), step->logits.cols);
    result.steps.push_back(FingerprintOf(logits));
    token = Sample(logits, sampling, i, scratch).value();
  }
  ExpertStore& store = model.experts();
  result.stats = store.stats();
  result.asked = result.stats.hits + result.stats.misses;
  store.Begin(LayerId{0}, {});  // nobody waits for what is still on its way
  while (store.io().in_flight() > 0) {
    store.Pump();
  }
  result.slots_without_expert = store.used_slots() - store.cache().residents();
  result.held_bytes = store.held_bytes();
  result.budget_bytes = store.budget_bytes();
  return result;
}

// Late, out of order; every third read that nobody waits for fails.
FaultScript Disturbed(uint64_t seed) {
  FaultScript script{.decide = {}, .shuffle_seed = seed};
  script.decide = [seed, ahead = size_t{0}](const ReadAttempt& attempt) mutable {
    ReadFault fault;
    fault.hold_back = (attempt.number + seed) % 5;
    if (attempt.request.urgency == Urgency::kAhead && ++ahead % 3 == 0) {
      fault.error = Error{ErrorCode::kIo, "scripted"};
    }
    return fault;
  };
  return script;
}

std::unique_ptr<LoadedModel> LoadDisturbed(const EngineOptions& options, uint64_t seed) {
  auto model = LoadedModel::Load(
      options, {}, [seed] { return MakeIoFaulty(MakeIoThreads(2), Disturbed(seed)); });
  COLI_CHECK(model.has_value());
  return *std::move(model);
}

uint32_t ExpertsPerToken(const ModelConfig& config) {
  uint32_t layers = 0;
  for (const LayerConfig& layer : config.layers) {
    layers += layer.ffn == FfnKind::kSparse ? 1U : 0U;
  }
  return layers * config.router.experts_per_token;
}

class Pressure : public ::testing::TestWithParam<float> {};  // the temperature

TEST_P(Pressure, LogitsOfEveryStepAreThoseOfEverythingResident) {
  EngineOptions options = GoldenOptions("t0");
  options.context = kSteps + 1;
  options.poison_released = true;
  const auto resident = testing::LoadGolden(options);
  const Decoded expected = Decode(*resident, GetParam());
  const uint32_t per_token = ExpertsPerToken(resident->config());
  const uint32_t k = resident->config().router.experts_per_token;
  ASSERT_EQ(expected.steps.size(), kSteps);

  uint64_t seed = 0;
  for (const uint32_t experts : {1U, k, k + 1, per_token, per_token * 11 / 10, per_token * 13 / 10,
                                 2 * per_token, 100'000U}) {
    options.cache_experts = experts;
    for (const char* const policy : {"score", "lru"}) {
      options.cache_policy = policy;
      const auto model = LoadDisturbed(options, ++seed);
      const Decoded decoded = Decode(*model, GetParam());

      EXPECT_EQ(decoded.steps, expected.steps) << experts << " experts, " << policy;
      EXPECT_EQ(decoded.asked, kSteps * per_token) << experts << " experts, " << policy;
      EXPECT_EQ(decoded.slots_without_expert, 0U) << experts << " experts, " << policy;
      EXPECT_LE(decoded.held_bytes, decoded.budget_bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GreedyAndSampled, Pressure, ::testing::Values(0.0F, 1.0F));

TEST(PressureOnMemory, ABudgetBelowTheLeastIsRefusedWithTheLeast) {
  EngineOptions options = GoldenOptions("t0");
  options.ram_bytes = 1;
  const auto model = LoadedModel::Load(options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kNotEnoughMemory);
  EXPECT_THAT(model.error().message, HasSubstr("needs at least"));
}

TEST(PressureOnMemory, TwiceTheBudgetReadsLessPerToken) {
  EngineOptions options = GoldenOptions("t0");
  options.context = kSteps + 1;
  uint64_t before = 0;
  for (const uint32_t experts : {6U, 12U, 24U}) {
    options.cache_experts = experts;
    const auto model = testing::LoadGolden(options);
    const uint64_t bytes = Decode(*model, 1.0F).stats.bytes_read;
    if (before != 0) {
      EXPECT_LT(bytes, before) << experts;
    }
    before = bytes;
  }
}

}  // namespace
}  // namespace coli
