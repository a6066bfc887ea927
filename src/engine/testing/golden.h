// For tests: the golden models, loaded and run.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/loaded_model.h"

namespace coli::testing {

inline std::filesystem::path GoldenPath(const std::string& name) {
  return std::filesystem::path("tests/golden") / name;  // tests run in the root of the tree
}

// Options as the fixtures want them: the reference keeps the latent norms at 1e-6.
inline EngineOptions GoldenOptions(const std::string& name) {
  EngineOptions options;
  options.model_dir = GoldenPath(name);
  options.threads = 2;
  options.latent_norm_eps = 1e-6F;
  options.context = 64;
  return options;
}

// Loads with room for logits of every row. `io` as in LoadedModel::Load.
inline std::unique_ptr<LoadedModel> LoadGolden(EngineOptions options,
                                               const LoadedModel::IoFactory& io = {}) {
  options.logits_for_all_rows = true;
  auto model = LoadedModel::Load(options, {}, io);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model ? *std::move(model) : nullptr;
}

// Token ids without a pattern that a model of 128 or more tokens knows.
inline std::vector<TokenId> Tokens(size_t count, uint32_t seed = 1) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    tokens.push_back(TokenId{static_cast<int32_t>(seed >> 16U) % 120 + 1});
  }
  return tokens;
}

// Logits of all tokens of one sequence, [tokens * vocab], computed in steps of `chunk` rows.
inline std::vector<float> Logits(LoadedModel& model, const std::vector<TokenId>& tokens,
                                 size_t chunk = 256, uint32_t first_position = 0,
                                 const LayerObserver& observer = {}) {
  auto cache = KvCache::Create(
      model.config(),
      {.capacity = static_cast<uint32_t>(tokens.size()), .format = model.plan().kv_format},
      first_position);
  EXPECT_TRUE(cache.has_value());
  std::vector<float> logits;
  for (size_t begin = 0; begin < tokens.size(); begin += chunk) {
    Batch batch;
    batch.caches.push_back(&*cache);
    for (size_t p = begin; p < std::min(begin + chunk, tokens.size()); ++p) {
      batch.rows.push_back({0, tokens[p], static_cast<uint32_t>(p), true});
    }
    const auto step = model.forward().Run(std::move(batch), observer);
    EXPECT_TRUE(step.has_value()) << step.error().message;
    for (uint32_t r = 0; step && r < step->logits.rows; ++r) {
      logits.insert(logits.end(), step->logits.row(r), step->logits.row(r) + step->logits.cols);
    }
  }
  return logits;
}

}  // namespace coli::testing
