// Any text as config.json, and as generation_config.json beside itself: refused, or a configuration
// that keeps its promises.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/model_config.h"

// The JSON type must be complete where it is held by value.
#include <nlohmann/json.hpp>

namespace coli {
namespace {

void CheckPromises(const ModelConfig& c) {
  const AttentionConfig& a = c.attention;
  const RouterConfig& r = c.router;
  COLI_CHECK(c.vocab_size > 0 && c.hidden_size > 0 && c.num_layers() > 0 && a.heads > 0);
  COLI_CHECK(c.layer(LayerId{0}).indexer == IndexerKind::kFull);
  COLI_CHECK(a.qk_rope_head_dim % 2 == 0 && c.indexer.head_dim >= a.qk_rope_head_dim);
  COLI_CHECK(r.experts % r.groups == 0 && r.top_groups <= r.groups);
  COLI_CHECK(r.experts_per_token <= r.experts / r.groups * r.top_groups);
  COLI_CHECK(a.rope_theta >= 1 && c.rms_norm_eps > 0 && c.latent_norm_eps > 0 && r.scale > 0);
  COLI_CHECK(uint64_t{a.heads} * (a.qk_head_dim() + a.v_head_dim) <= UINT32_MAX);
  const uint64_t layers = c.num_layers() + c.mtp_layers;
  COLI_CHECK(CheckedProduct({layers, r.experts, c.expert_intermediate_size, c.hidden_size, 12})
                 .has_value());
  for (const TokenId token : c.eos_tokens) {
    COLI_CHECK(Raw(token) >= 0 && static_cast<uint32_t>(Raw(token)) < c.vocab_size);
  }
}

}  // namespace
}  // namespace coli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = coli::ParseJson(text, "config.json", {.max_bytes = 1 << 16});
  if (!json) {
    return 0;
  }
  const auto alone = coli::ParseModelConfig(*json, nullptr, "config.json");
  const auto both = coli::ParseModelConfig(*json, &*json, "config.json");
  for (const auto* config : {&alone, &both}) {
    if (*config) {
      coli::CheckPromises(**config);
    } else {
      COLI_CHECK(config->error().message.starts_with("config.json") ||
                 config->error().message.starts_with("generation_config.json"));
      COLI_CHECK(config->error().message.size() < 1000);
    }
  }
  return 0;
}
