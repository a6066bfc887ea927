// Drafts to depth 4 with the one MTP layer: the hidden state that is fed back is the one after
// shared_head.norm. Feeding the one before it goes unnoticed in any output, so the reference has
// the logits of every depth.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/fixture.h"
#include "engine/testing/golden.h"
#include "model/mtp_head.h"

namespace coli {
namespace {

using testing::GoldenOptions;
using testing::GoldenPath;
using testing::LoadGolden;

class MtpDepth : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fixtures, MtpDepth, ::testing::Values("t11", "t11-copies"),
                         [](const auto& param) {
                           return std::string(param.param) == "t11" ? "shared" : "copies";
                         });

TEST_P(MtpDepth, DraftLogitsEqualTheReferenceAtEveryDepth) {
  const std::string name = GetParam();
  EngineOptions options = GoldenOptions(name);
  options.load_mtp = true;
  const auto model = LoadGolden(options);
  const auto fixture = Fixture::Open(GoldenPath(name));
  ASSERT_TRUE(fixture.has_value()) << fixture.error().message;
  const FixtureCase& c = fixture->cases()[0];
  const Json depths =
      *ParseJson(*ReadTextFile(GoldenPath(name) / "mtp_depth.json", 1 << 20), "mtp_depth.json");
  const uint32_t vocab = model->config().vocab_size;
  const auto starts = static_cast<uint32_t>(depths["starts"].size());

  for (const Json& start : depths["starts"]) {
    const auto row = start["row"].get<uint32_t>();
    auto cache = KvCache::Create(model->config(), {.capacity = 64, .with_mtp = true});
    Batch batch;
    batch.caches.push_back(&*cache);
    for (uint32_t p = 0; p <= row; ++p) {
      batch.rows.push_back({0, c.ids[p], p, true});
    }
    const auto main = model->forward().Run(std::move(batch));
    ASSERT_TRUE(main.has_value()) << main.error().message;
    MtpHead head(model->config(), model->weights(), 0, model->forward(), model->backend(),
                 model->experts());
    std::vector<MtpRow> rows;
    for (uint32_t p = 0; p <= row; ++p) {
      rows.push_back({&*cache, c.ids[p + 1], p, main->hidden.row(p)});
    }
    auto result = head.Run(rows);

    for (uint32_t depth = 1; depth <= 4; ++depth) {
      ASSERT_TRUE(result.has_value()) << result.error().message;
      const auto reference =
          fixture->Read(fmt::format("{}.mtp.depth.{}", c.name, depth), starts, vocab);
      ASSERT_TRUE(reference.has_value()) << reference.error().message;
      const float* const expected = reference->row(start["index"].get<size_t>());
      const float* const actual = result->logits.row(result->logits.rows - 1);
      const auto [low, high] = std::minmax_element(expected, expected + vocab);
      for (uint32_t i = 0; i < vocab; ++i) {
        ASSERT_NEAR(actual[i], expected[i],
                    fixture->tolerance() * static_cast<double>(*high - *low))
            << "depth " << depth;
      }
      if (depth < 4) {
        const TokenId draft{start["drafts"][depth - 1].get<int32_t>()};
        result =
            head.Run({{&*cache, draft, row + depth, result->hidden.row(result->hidden.rows - 1)}});
      }
    }
  }
}

}  // namespace
}  // namespace coli
