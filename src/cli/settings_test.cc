#include "cli/settings.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

void SetFlag(OptionValues& values, const char* name, const char* text) {
  const OptionSpec& spec = *FindOption(name);
  values.Set(spec, *ParseOption(spec, text, name), Origin::kFlag);
}

TEST(MakeEngineOptions, TakesEveryOption) {
  OptionValues values;
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"isa", "scalar"},
                                                                  {"threads", "3"},
                                                                  {"ram", "2G"},
                                                                  {"cache-experts", "5"},
                                                                  {"ctx", "99"},
                                                                  {"prefill-chunk", "7"},
                                                                  {"attention", "explicit"},
                                                                  {"kv", "bf16"},
                                                                  {"io", "threads"},
                                                                  {"direct", "off"},
                                                                  {"latent-norm-eps", "1e-6"}}) {
    SetFlag(values, name, text);
  }

  const EngineOptions options = MakeEngineOptions(values, "dir");

  EXPECT_EQ(options.model_dir, "dir");
  EXPECT_EQ(options.isa, "scalar");
  EXPECT_EQ(options.threads, 3u);
  EXPECT_EQ(options.ram_bytes, uint64_t{2} << 30);
  EXPECT_EQ(options.cache_experts, 5u);
  EXPECT_EQ(options.context, 99u);
  EXPECT_EQ(options.prefill_chunk, 7u);
  EXPECT_EQ(options.attention, AttentionForm::kExplicit);
  EXPECT_EQ(options.kv, FormatId::kBf16);
  EXPECT_EQ(options.io, IoKind::kThreads);
  EXPECT_EQ(options.direct, DirectMode::kOff);
  EXPECT_EQ(options.latent_norm_eps, 1e-6F);
}

TEST(ModeText, SaysHowTheModelRuns) {
  const EngineMode mode{.io = "io_uring, direct, depth 8",
                        .budget_bytes = uint64_t{20} << 30,
                        .experts = 19'200,
                        .fitting_experts = 900,
                        .threads = 8,
                        .isa = "avx2"};
  EXPECT_EQ(ModeText(mode),
            "io_uring, direct, depth 8; 20.0 GiB in all, room for 900 of 19200 experts; 8 threads, "
            "avx2");
}

TEST(MakeEngineOptions, WhatNobodySetIsLeftToTheEngine) {
  const EngineOptions options = MakeEngineOptions(OptionValues(), "dir");
  const EngineOptions defaults;

  EXPECT_EQ(options.isa, defaults.isa);
  EXPECT_EQ(options.threads, 0u);
  EXPECT_EQ(options.ram_bytes, 0u);
  EXPECT_EQ(options.context, 0u);
  EXPECT_EQ(options.prefill_chunk, defaults.prefill_chunk);
  EXPECT_EQ(options.attention, defaults.attention);
  EXPECT_EQ(options.kv, defaults.kv);
  EXPECT_EQ(options.io, defaults.io);
  EXPECT_EQ(options.direct, defaults.direct);
  EXPECT_FALSE(options.cache_experts);
  EXPECT_FALSE(options.latent_norm_eps);
}

TEST(ApplyModelDefaults, GoBeforeOursAndBehindTheUsers) {
  OptionValues values;
  SetFlag(values, "top-p", "0.5");
  ModelConfig config{};
  config.temperature = 0.3F;
  config.top_p = 0.95F;
  config.top_k = 40;

  ApplyModelDefaults(config, values);

  EXPECT_EQ(values.Real("temp"), 0.3);  // as written, not as a widened float
  EXPECT_EQ(values.Real("top-p"), 0.5);
  EXPECT_EQ(values.Integer("top-k"), 40u);
}

TEST(WarmingText, SaysBytesAndTimeLeftUntilItIsOver) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  EXPECT_EQ(WarmingText({}), "");
  EXPECT_EQ(WarmingText({.done_bytes = 0, .total_bytes = 12 * kGib, .seconds = 1}),
            "warming: 0 %, 0 B of 12.0 GiB");
  EXPECT_EQ(WarmingText({.done_bytes = 3 * kGib, .total_bytes = 12 * kGib, .seconds = 10}),
            "warming: 25 %, 3.00 GiB of 12.0 GiB, 30 s left");
  EXPECT_EQ(WarmingText({.done_bytes = kGib, .total_bytes = kGib, .seconds = 99}), "");
}

TEST(MakeSampling, WithoutASeedEachOneIsNew) {
  OptionValues values;
  EXPECT_NE(MakeSampling(values).seed, MakeSampling(values).seed);
  EXPECT_FLOAT_EQ(MakeSampling(values).temperature, 0.7F);
  EXPECT_FLOAT_EQ(MakeSampling(values).top_p, 0.9F);

  SetFlag(values, "seed", "17");

  EXPECT_EQ(MakeSampling(values).seed, 17u);
}

}  // namespace
}  // namespace coli
