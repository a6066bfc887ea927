// What must hold for any weights: properties of the forward pass that need no reference.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <span>

#include "engine/testing/golden.h"
#include "sys/io_faulty.h"
#include "sys/io_threads.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using testing::GoldenOptions;
using testing::LoadGolden;
using testing::Logits;
using testing::Tokens;

std::vector<float> RowsOf(const std::vector<float>& logits, size_t rows, size_t vocab) {
  return {logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(rows * vocab)};
}

double WorstDifferenceOverRange(const std::vector<float>& a, const std::vector<float>& b) {
  const auto [low, high] = std::ranges::minmax(a);
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return worst / (static_cast<double>(high) - static_cast<double>(low));
}

// The selection of every full layer, by layer and position.
using Selections = std::map<std::pair<int, uint32_t>, std::vector<uint32_t>>;
Selections SelectionsOf(LoadedModel& model, const std::vector<TokenId>& tokens) {
  Selections selections;
  Logits(model, tokens, 256, 0, [&](LayerId layer, const Batch& batch, ConstMatrixView) {
    const Selection& selection = model.forward().selection();
    for (size_t r = 0; r < batch.rows.size(); ++r) {
      auto& set = selections[{Raw(layer), batch.rows[r].position}];
      if (selection.all(r)) {
        set.resize(batch.rows[r].position + 1);
        std::iota(set.begin(), set.end(), 0U);
      } else {
        set.assign(selection.positions(r).begin(), selection.positions(r).end());
      }
    }
  });
  return selections;
}

TEST(ForwardProperties, ChangingATokenLeavesEarlierLogitsUnchanged) {
  const auto model = LoadGolden(GoldenOptions("t0"));
  std::vector<TokenId> tokens = Tokens(40);
  const std::vector<float> before = Logits(*model, tokens);

  tokens[25] = TokenId{Raw(tokens[25]) + 1};
  const std::vector<float> after = Logits(*model, tokens);

  const size_t vocab = model->config().vocab_size;
  EXPECT_EQ(RowsOf(after, 25, vocab), RowsOf(before, 25, vocab));
  EXPECT_NE(after, before);
}

TEST(ForwardProperties, SelectionsAreCausalAscendingAndOfTheRightSize) {
  const auto model = LoadGolden(GoldenOptions("t0"));
  const uint32_t top_k = model->config().indexer.top_k;

  for (const auto& [place, set] : SelectionsOf(*model, Tokens(40))) {
    const uint32_t position = place.second;
    EXPECT_EQ(set.size(), std::min(top_k, position + 1));
    EXPECT_TRUE(std::ranges::is_sorted(set, std::ranges::less_equal{}) || set.size() == 1);
    EXPECT_LE(set.back(), position);
  }
}

TEST(ForwardProperties, SharedLayersUseTheSelectionOfTheFullLayerBelow) {
  const auto model = LoadGolden(GoldenOptions("t0"));
  const Selections selections = SelectionsOf(*model, Tokens(40));

  int shared_layers = 0;
  for (const auto& [place, set] : selections) {
    const auto [layer, position] = place;
    if (model->config().layer(LayerId{layer}).indexer == IndexerKind::kShared) {
      EXPECT_EQ(set, selections.at({layer - 1, position})) << "layer " << layer;
      ++shared_layers;
    }
  }
  EXPECT_GT(shared_layers, 0);
}

// Long enough for several blocks of attention and several windows of experts.
constexpr uint32_t kLongPrompt = 700;

EngineOptions LongPromptOptions() {
  EngineOptions options = GoldenOptions("t0");
  options.context = kLongPrompt;
  options.prefill_chunk = kLongPrompt;
  options.cache_experts = 1;
  return options;
}

TEST(ForwardProperties, ALongPromptHasTheSameLogitsInSlicesOfAnySize) {
  const auto model = LoadGolden(LongPromptOptions());
  ASSERT_GT(kLongPrompt, 2 * kAttentionRows);
  ASSERT_GT(kLongPrompt * (model->config().router.experts_per_token + 1),
            2 * model->forward().activations().expert_outs.rows);
  const std::vector<float> expected = Logits(*model, Tokens(kLongPrompt), 1);

  for (const size_t slice : {7U, 64U, 200U, kLongPrompt}) {
    EXPECT_EQ(Logits(*model, Tokens(kLongPrompt), slice), expected) << slice;
  }
}

// With a cache of one expert every read is needed again by the next slice.
TEST(ForwardProperties, ASliceReadsEveryExpertOnce) {
  const auto reads = [](std::optional<uint32_t> cache, size_t slice) {
    EngineOptions options = LongPromptOptions();
    options.cache_experts = cache;
    const auto model = LoadGolden(options);
    Logits(*model, Tokens(kLongPrompt), slice);
    return model->experts().stats().misses;
  };
  const uint64_t chosen = reads(std::nullopt, 64);  // nothing is read twice: all stay

  EXPECT_EQ(reads(1, kLongPrompt), chosen);
  EXPECT_GT(reads(1, kLongPrompt / 2), chosen * 3 / 2);
}

TEST(ForwardProperties, AStepThatNobodyWaitsForEndsBeforeTheNextExpert) {
  const auto model = LoadGolden(LongPromptOptions());
  auto cache = KvCache::Create(model->config(), {.capacity = kLongPrompt});
  ASSERT_TRUE(cache.has_value());
  Batch batch;
  batch.caches.push_back(&*cache);
  for (const TokenId token : Tokens(kLongPrompt)) {
    batch.rows.push_back({0, token, static_cast<uint32_t>(batch.rows.size()), true});
  }
  batch.cancelled = [&](uint32_t) { return model->experts().stats().misses >= 3; };

  const auto step = model->forward().Run(std::move(batch));

  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_EQ(step->rows.size(), 0U);
  EXPECT_LE(model->experts().stats().misses, 4U);
}

// A copy of t0 in which the bytes of some tensors are replaced.
class Altered {
 public:
  Altered(std::string_view suffix, const std::function<std::string(uint64_t bytes)>& content) {
    std::filesystem::copy(testing::GoldenPath("t0"), directory_.path(),
                          std::filesystem::copy_options::recursive);
    const auto container = Container::Open(directory_.path());
    std::fstream file(directory_.path() / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    for (const auto& [name, tensor] : container->tensors()) {
      if (name.ends_with(suffix)) {
        file.seekp(static_cast<std::streamoff>(tensor.offset));
        file << content(tensor.bytes);
      }
    }
  }
  EngineOptions Options() const {
    EngineOptions options = GoldenOptions("t0");
    options.model_dir = directory_.path();
    return options;
  }

 private:
  testing::TempDirectory directory_;
};

TEST(ForwardProperties, EqualScoresSelectTheLowestPositions) {
  // Head weights 0: every score is 0.
  const Altered zeroed("indexer.weights_proj.weight",
                       [](uint64_t bytes) { return std::string(bytes, '\0'); });
  const auto model = LoadGolden(zeroed.Options());

  for (const auto& [place, set] : SelectionsOf(*model, Tokens(30))) {
    std::vector<uint32_t> lowest(std::min(model->config().indexer.top_k, place.second + 1));
    std::iota(lowest.begin(), lowest.end(), 0U);
    EXPECT_EQ(set, lowest);
  }
}

TEST(ForwardProperties, AnIndexerScoreThatIsNotFiniteIsAnErrorAndNotASelection) {
  // BF16 0x7f7f is 3.4e38: finite weights whose products are not.
  const Altered huge("indexer.wk.weight",
                     [](uint64_t bytes) { return std::string(bytes, '\x7f'); });
  const auto model = LoadGolden(huge.Options());
  auto cache = KvCache::Create(model->config(), {.capacity = 30});
  Batch batch;
  batch.caches.push_back(&*cache);
  for (uint32_t p = 0; p < 30; ++p) {
    batch.rows.push_back({0, Tokens(30)[p], p, true});
  }

  const auto step = model->forward().Run(std::move(batch));

  ASSERT_FALSE(step.has_value());
  EXPECT_EQ(step.error().code, ErrorCode::kNumeric);
  EXPECT_NE(step.error().message.find("indexer"), std::string::npos) << step.error().message;
}

TEST(ForwardProperties, SelectingEveryKeyIsDenseAttention) {
  // K = 64 in this fixture: 40 positions are dense by the rule p + 1 <= K. A copy with K = 39
  // selects in its last row only.
  const testing::TempDirectory directory;
  std::filesystem::copy(testing::GoldenPath("t1-dense"), directory.path(),
                        std::filesystem::copy_options::recursive);
  std::string config = *ReadTextFile(directory.path() / "config.json", 1 << 20);
  const size_t at = config.find("\"index_topk\": 64");
  ASSERT_NE(at, std::string::npos);
  config.replace(at, 16, "\"index_topk\": 39");
  std::ofstream(directory.path() / "config.json") << config;
  EngineOptions options = GoldenOptions("t1-dense");
  const auto dense = LoadGolden(options);
  options.model_dir = directory.path();
  const auto sparse = LoadGolden(options);
  const std::vector<TokenId> tokens = Tokens(40);
  const size_t vocab = dense->config().vocab_size;

  const std::vector<float> a = Logits(*dense, tokens);
  const std::vector<float> b = Logits(*sparse, tokens);

  EXPECT_EQ(RowsOf(a, 39, vocab), RowsOf(b, 39, vocab));
  EXPECT_NE(a, b);
}

TEST(ForwardProperties, ShiftingAllPositionsChangesNothingButRounding) {
  const auto model = LoadGolden(GoldenOptions("t1-dense"));
  const std::vector<TokenId> tokens = Tokens(40);

  const std::vector<float> at_zero = Logits(*model, tokens);
  const std::vector<float> shifted = Logits(*model, tokens, 256, 100);

  EXPECT_NE(at_zero, shifted);
  EXPECT_LT(WorstDifferenceOverRange(at_zero, shifted),
            1e-4);  // the angles are rounded to f32: 2^-24 of 100 rad
}

// Reads that arrive late and in another order must not be seen in the results.
TEST(ForwardProperties, DelayedAndReorderedReadsGiveTheSameBits) {
  for (const char* const name : {"t0", "c-mixed"}) {
    EngineOptions options = GoldenOptions(name);
    options.cache_experts = 6;
    const std::vector<TokenId> tokens = Tokens(24);
    const auto calm = LoadGolden(options);
    const std::vector<float> expected = Logits(*calm, tokens, 5);

    for (const uint64_t seed : {1U, 2U, 3U}) {
      const auto restless = LoadGolden(options, [&] {
        FaultScript script;
        script.shuffle_seed = seed;
        script.decide = [](const ReadAttempt& attempt) {
          ReadFault fault;
          fault.hold_back = attempt.number % 3;
          return fault;
        };
        return MakeIoFaulty(MakeIoThreads(2), script);
      });
      EXPECT_EQ(Logits(*restless, tokens, 5), expected) << name << ", seed " << seed;
    }
  }
}

TEST(ForwardProperties, AFailedReadNamesLayerAndExpertAndTheModelStaysUsable) {
  bool broken = true;
  const auto model = LoadGolden(GoldenOptions("t0"), [&] {
    FaultScript script;
    script.decide = [&](const ReadAttempt&) {
      ReadFault fault;
      if (broken) {
        fault.error = Error{ErrorCode::kIo, "the drive is gone"};
      }
      return fault;
    };
    return MakeIoFaulty(MakeIoThreads(1), script);
  });
  const std::vector<TokenId> tokens = Tokens(4);
  auto cache = KvCache::Create(model->config(), {.capacity = 4});
  Batch batch;
  batch.caches.push_back(&*cache);
  batch.rows.push_back({0, tokens[0], 0, true});

  const auto failed = model->forward().Run(batch);
  broken = false;
  const std::vector<float> healed = Logits(*model, tokens);

  ASSERT_FALSE(failed.has_value());
  EXPECT_NE(failed.error().message.find("layer"), std::string::npos) << failed.error().message;
  EXPECT_NE(failed.error().message.find("expert"), std::string::npos) << failed.error().message;
  EXPECT_EQ(healed, Logits(*LoadGolden(GoldenOptions("t0")), tokens));
}

// Prefill rows and decode rows of six sequences in one step, against each sequence alone.
TEST(ForwardProperties, ASequenceAmongFiveOthersHasTheSameLogits) {
  for (const char* const name : {"t0", "c-mixed"}) {
    for (const char* const isa : {"scalar", "auto"}) {
      EngineOptions options = GoldenOptions(name);
      options.isa = isa;
      const auto model = LoadGolden(options);
      std::vector<std::vector<TokenId>> tokens;
      std::vector<KvCache> caches;
      for (uint32_t s = 0; s < 6; ++s) {
        tokens.push_back(Tokens(12 + s, s + 1));
        caches.push_back(*KvCache::Create(model->config(), {.capacity = 32}));
      }
      std::vector<std::vector<float>> together(6);
      // Sequence s gives s + 1 rows to each step: some decode, others are still in their prompt.
      std::vector<uint32_t> done(6);
      while (done != std::vector<uint32_t>{12, 13, 14, 15, 16, 17}) {
        Batch batch;
        for (uint32_t s = 0; s < 6; ++s) {
          batch.caches.push_back(&caches[s]);
          for (uint32_t i = 0; i <= s && done[s] < tokens[s].size(); ++i, ++done[s]) {
            batch.rows.push_back({s, tokens[s][done[s]], done[s], true});
          }
        }
        const auto step = model->forward().Run(std::move(batch));
        ASSERT_TRUE(step.has_value()) << step.error().message;
        for (size_t r = 0; r < step->rows.size(); ++r) {
          auto& logits = together[step->rows[r].sequence];
          logits.insert(logits.end(), step->logits.row(r), step->logits.row(r) + step->logits.cols);
        }
      }

      for (uint32_t s = 0; s < 6; ++s) {
        EXPECT_EQ(together[s], Logits(*model, tokens[s])) << name << ", " << isa << ", " << s;
      }
    }
  }
}

TEST(ForwardProperties, RowsOfACancelledSequenceAreDroppedWithinALayerAndTheOthersDoNotNotice) {
  const auto model = LoadGolden(GoldenOptions("t0"));
  const std::vector<TokenId> tokens = Tokens(12);
  const auto run = [&](bool cancel, std::vector<size_t>& rows_per_layer) {
    auto first = KvCache::Create(model->config(), {.capacity = 12});
    auto second = KvCache::Create(model->config(), {.capacity = 12});
    Batch batch;
    batch.caches = {&*first, &*second};
    for (uint32_t p = 0; p < 12; ++p) {
      batch.rows.push_back({0, tokens[p], p, true});
    }
    for (uint32_t p = 0; p < 12; ++p) {
      batch.rows.push_back({1, tokens[11 - p], p, true});
    }
    batch.cancelled = [&](uint32_t sequence) { return cancel && sequence == 0; };
    const auto step =
        model->forward().Run(std::move(batch), [&](LayerId, const Batch& now, ConstMatrixView) {
          rows_per_layer.push_back(now.rows.size());
        });
    std::vector<float> second_logits;
    for (size_t r = 0; r < step->rows.size(); ++r) {
      if (step->rows[r].sequence == 1) {
        second_logits.insert(second_logits.end(), step->logits.row(r),
                             step->logits.row(r) + step->logits.cols);
      }
    }
    return second_logits;
  };
  std::vector<size_t> rows_undisturbed;
  std::vector<size_t> rows_cancelled;

  const std::vector<float> undisturbed = run(false, rows_undisturbed);
  const std::vector<float> cancelled = run(true, rows_cancelled);

  EXPECT_EQ(cancelled, undisturbed);
  EXPECT_EQ(rows_undisturbed, std::vector<size_t>(5, 24));
  EXPECT_EQ(rows_cancelled, (std::vector<size_t>{24, 12, 12, 12, 12}));
}

// Every chosen expert of every row is computed, whatever the budget: none is dropped under
// pressure.
TEST(ForwardProperties, ExpertsAskedForAreTokensTimesLayersTimesK) {
  for (const uint32_t slots : {1U, 3U, 1000U}) {
    EngineOptions options = GoldenOptions("t0");
    options.cache_experts = slots;
    const auto model = LoadGolden(options);

    Logits(*model, Tokens(20), 1);  // one row at a time: no expert is shared by two rows of a step

    const ExpertStoreStats& stats = model->experts().stats();
    uint64_t sparse_layers = 0;
    for (const LayerConfig& layer : model->config().layers) {
      sparse_layers += layer.ffn == FfnKind::kSparse ? 1 : 0;
    }
    EXPECT_EQ(stats.hits + stats.misses,
              20 * sparse_layers * model->config().router.experts_per_token)
        << slots;
  }
}

}  // namespace
}  // namespace coli
