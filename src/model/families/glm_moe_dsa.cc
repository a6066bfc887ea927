// GLM-5, 5.1 and 5.2: MLA with the lightning indexer of DeepSeek-V3.2, mixture of experts with a
// sigmoid router. Reads what transformers' GlmMoeDsaConfig reads, and older spellings. Shape-giving
// keys must be there; the others have the defaults of that class.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "model/families/family.h"

namespace coli {
namespace {

constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxMtpLayers = 16;
constexpr int64_t kMaxSharedExperts = 64;
constexpr FloatRange kThetaRange{1, 1e12};
constexpr double kDefaultTheta = 10000;

// Where a size lies in the configuration.
template <auto kMember>
uint32_t& Model(ModelConfig& model) {
  return model.*kMember;
}
template <auto kMember>
uint32_t& Attention(ModelConfig& model) {
  return model.attention.*kMember;
}
template <auto kMember>
uint32_t& Indexer(ModelConfig& model) {
  return model.indexer.*kMember;
}
template <auto kMember>
uint32_t& Router(ModelConfig& model) {
  return model.router.*kMember;
}

// A size and its bounds. Without a value for its absence it must be present.
struct SizeRule {
  FieldNames names;
  IntRange range;
  std::optional<uint32_t> absent;
  uint32_t& (*place)(ModelConfig&);
};

constexpr std::string_view kExpertsNames[] = {"n_routed_experts", "num_experts",
                                              "num_local_experts"};

// The bounds keep every product of sizes that the program forms far below 2^63, every row count
// (heads times head dimensions) below 2^32, and every position exact in f32.
constexpr SizeRule kSizes[] = {
    {"vocab_size", {1, 1 << 21}, {}, Model<&ModelConfig::vocab_size>},
    {"hidden_size", {1, 1 << 16}, {}, Model<&ModelConfig::hidden_size>},
    {"intermediate_size", {1, 1 << 20}, {}, Model<&ModelConfig::dense_intermediate_size>},
    {"moe_intermediate_size", {1, 1 << 17}, {}, Model<&ModelConfig::expert_intermediate_size>},
    {"max_position_embeddings", {1, 1 << 24}, 202752, Model<&ModelConfig::max_positions>},
    {"num_attention_heads", {1, 1024}, {}, Attention<&AttentionConfig::heads>},
    {"q_lora_rank", {1, 1 << 15}, {}, Attention<&AttentionConfig::q_lora_rank>},
    {"kv_lora_rank", {1, 1 << 15}, {}, Attention<&AttentionConfig::kv_lora_rank>},
    {"qk_nope_head_dim", {1, 4096}, {}, Attention<&AttentionConfig::qk_nope_head_dim>},
    {"qk_rope_head_dim", {2, 4096}, {}, Attention<&AttentionConfig::qk_rope_head_dim>},
    {"v_head_dim", {1, 4096}, {}, Attention<&AttentionConfig::v_head_dim>},
    {"index_n_heads", {1, 1024}, 32, Indexer<&IndexerConfig::heads>},
    {"index_head_dim", {1, 4096}, 128, Indexer<&IndexerConfig::head_dim>},
    {"index_topk", {1, 1 << 20}, 2048, Indexer<&IndexerConfig::top_k>},
    {kExpertsNames, {1, 4096}, {}, Router<&RouterConfig::experts>},
    {"num_experts_per_tok", {1, 4096}, {}, Router<&RouterConfig::experts_per_token>},
    {"n_group", {1, 4096}, 1, Router<&RouterConfig::groups>},
    {"topk_group", {1, 4096}, 1, Router<&RouterConfig::top_groups>},
};

Status ReadSizes(const Fields& config, ModelConfig& model) {
  for (const SizeRule& rule : kSizes) {
    COLI_ASSIGN_OR_RETURN(const int64_t size,
                          rule.absent ? config.IntOr(rule.names, rule.range, *rule.absent)
                                      : config.Int(rule.names, rule.range));
    rule.place(model) = static_cast<uint32_t>(size);
  }
  COLI_ASSIGN_OR_RETURN(const auto shared,
                        config.MaybeInt("n_shared_experts", {0, kMaxSharedExperts}));
  COLI_ASSIGN_OR_RETURN(const auto mtp_layers,
                        config.MaybeInt("num_nextn_predict_layers", {0, kMaxMtpLayers}));
  const uint32_t absent_shared = config.IsNull("n_shared_experts") ? 0 : 1;  // null means none
  model.shared_experts = shared ? static_cast<uint32_t>(*shared) : absent_shared;
  model.mtp_layers = static_cast<uint32_t>(mtp_layers.value_or(0));
  return Ok();
}

Status ReadOthers(const Fields& config, ModelConfig& model) {
  COLI_ASSIGN_OR_RETURN(model.router.normalize, config.BoolOr("norm_topk_prob", true));
  COLI_ASSIGN_OR_RETURN(model.tied_embeddings, config.BoolOr("tie_word_embeddings", false));
  COLI_ASSIGN_OR_RETURN(const double scale,
                        config.FloatOr("routed_scaling_factor", {1e-6, 1e6}, 2.5));
  COLI_ASSIGN_OR_RETURN(const double eps, config.FloatOr("rms_norm_eps", {1e-12, 1}, 1e-5));
  model.router.scale = static_cast<float>(scale);
  model.rms_norm_eps = static_cast<float>(eps);
  return Ok();
}

// Error unless the rule holds.
Status Require(bool rule, const Fields& config, const FieldNames& names,
               std::string_view expected) {
  if (rule) {
    return Ok();
  }
  return tl::unexpected(config.Mismatch(names, expected));
}

Status CheckAttention(const Fields& config, const ModelConfig& model) {
  const AttentionConfig& a = model.attention;
  COLI_ASSIGN_OR_RETURN(const auto kv_heads, config.MaybeInt("num_key_value_heads", {1, 1024}));
  COLI_RETURN_IF_ERROR(Require(!kv_heads || *kv_heads == a.heads, config, "num_key_value_heads",
                               fmt::format("num_attention_heads, {}", a.heads)));
  COLI_RETURN_IF_ERROR(
      Require(a.qk_rope_head_dim % 2 == 0, config, "qk_rope_head_dim", "an even number"));
  COLI_ASSIGN_OR_RETURN(const auto qk_head_dim, config.MaybeInt("qk_head_dim", {1, 8192}));
  COLI_RETURN_IF_ERROR(
      Require(!qk_head_dim || *qk_head_dim == a.qk_head_dim(), config, "qk_head_dim",
              fmt::format("qk_nope_head_dim + qk_rope_head_dim, {}", a.qk_head_dim())));
  return Require(model.indexer.head_dim >= a.qk_rope_head_dim, config, "index_head_dim",
                 fmt::format("at least qk_rope_head_dim, {}", a.qk_rope_head_dim));
}

Status CheckRouter(const Fields& config, const RouterConfig& r) {
  COLI_RETURN_IF_ERROR(Require(r.experts % r.groups == 0, config, "n_group",
                               fmt::format("a divisor of the number of experts, {}", r.experts)));
  const uint32_t group_size = r.experts / r.groups;
  COLI_RETURN_IF_ERROR(Require(r.groups == 1 || group_size >= 2, config, "n_group",
                               fmt::format("groups of at least 2 of the {} experts", r.experts)));
  COLI_RETURN_IF_ERROR(Require(r.top_groups <= r.groups, config, "topk_group",
                               fmt::format("at most n_group, {}", r.groups)));
  const uint32_t eligible = r.top_groups * group_size;
  return Require(r.experts_per_token <= eligible, config, "num_experts_per_tok",
                 fmt::format("at most the experts of topk_group groups, {}", eligible));
}

// Keys that have one meaning here. Whatever else they say would be another model.
Status CheckFixedKeys(const Fields& config) {
  for (const auto& [key, only] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"scoring_func", "sigmoid"}, {"topk_method", "noaux_tc"}, {"hidden_act", "silu"}}) {
    COLI_RETURN_IF_ERROR(config.Only(key, only));
  }
  for (const auto& [key, only] : std::initializer_list<std::pair<std::string_view, bool>>{
           {"attention_bias", false},
           {"mlp_bias", false},
           {"mla_use_nope", false},
           {"rope_interleave", true},
           {"indexer_rope_interleave", true}}) {
    COLI_RETURN_IF_ERROR(config.Only(key, only));
  }
  COLI_RETURN_IF_ERROR(config.Only("moe_layer_freq", int64_t{1}));

  for (const std::string_view prefix :
       {"index_kpool", "mhc", "hc_mult", "linear_attn_config", "swiglu_limit"}) {
    if (const auto key = config.FindPrefix(prefix)) {
      return tl::unexpected(
          config.Unsupported(std::string_view(*key), "no such key for glm_moe_dsa"));
    }
  }
  return config.OnlyWords("layer_types", {"deepseek_sparse_attention", "indexed_attention"});
}

// Which tensors are FP8 the tensors themselves say; a container made from an FP8 checkpoint keeps
// its config.json.
Status CheckQuantization(const Fields& config) {
  COLI_ASSIGN_OR_RETURN(const auto quantization, config.MaybeObject("quantization_config"));
  if (!quantization) {
    return Ok();
  }
  COLI_RETURN_IF_ERROR(
      Require(quantization->Has("quant_method"), *quantization, "quant_method", "\"fp8\""));
  COLI_RETURN_IF_ERROR(quantization->Only("quant_method", "fp8"));
  COLI_RETURN_IF_ERROR(quantization->Only("fmt", "e4m3"));
  COLI_RETURN_IF_ERROR(quantization->Only("activation_scheme", "dynamic"));
  COLI_ASSIGN_OR_RETURN(const auto block,
                        quantization->MaybeInts("weight_block_size", {1, 1 << 16}));
  if (block && *block != std::vector<int64_t>{128, 128}) {
    return tl::unexpected(quantization->Unsupported("weight_block_size", "[128, 128]"));
  }
  return Ok();
}

// Plain rotary embedding only. `rope` is rope_parameters or, in older files, rope_scaling.
Status CheckRopeType(const Fields& rope) {
  COLI_RETURN_IF_ERROR(rope.Only("rope_type", "default"));
  COLI_RETURN_IF_ERROR(rope.Only("type", "default"));
  COLI_ASSIGN_OR_RETURN(const auto partial, rope.MaybeFloat("partial_rotary_factor", {0, 1}));
  if (partial.value_or(1) != 1) {
    return tl::unexpected(rope.Unsupported("partial_rotary_factor", "1"));
  }
  return Ok();
}

Status ReadRope(const Fields& config, ModelConfig& model) {
  COLI_ASSIGN_OR_RETURN(const auto parameters, config.MaybeObject("rope_parameters"));
  COLI_ASSIGN_OR_RETURN(const auto scaling, config.MaybeObject("rope_scaling"));
  COLI_ASSIGN_OR_RETURN(const auto old_theta, config.MaybeFloat("rope_theta", kThetaRange));
  std::optional<double> new_theta;
  if (parameters) {
    COLI_RETURN_IF_ERROR(CheckRopeType(*parameters));
    COLI_ASSIGN_OR_RETURN(new_theta, parameters->MaybeFloat("rope_theta", kThetaRange));
  }
  if (scaling) {
    COLI_RETURN_IF_ERROR(CheckRopeType(*scaling));
  }

  if (new_theta && old_theta && *new_theta != *old_theta) {
    model.warnings.push_back(
        fmt::format("{}: rope_parameters.rope_theta is {} and rope_theta {}: using the former",
                    config.source(), *new_theta, *old_theta));
  }
  if (!new_theta && !old_theta) {
    model.warnings.push_back(
        fmt::format("{}: no rope_theta: using {}", config.source(), kDefaultTheta));
  }
  model.attention.rope_theta =
      static_cast<float>(new_theta ? *new_theta : old_theta.value_or(kDefaultTheta));
  return Ok();
}

using Schedule = std::vector<IndexerKind>;  // one per main layer

// From a list that may be longer than there are layers: what follows would be about MTP layers.
Result<Schedule> ToSchedule(const Fields& config, std::string_view key,
                            const std::vector<std::string>& words, size_t layers) {
  COLI_RETURN_IF_ERROR(
      Require(words.size() >= layers, config, key, fmt::format("at least {} entries", layers)));
  Schedule schedule;
  for (size_t i = 0; i < layers; ++i) {
    schedule.push_back(words[i] == "full" ? IndexerKind::kFull : IndexerKind::kShared);
  }
  if (schedule[0] == IndexerKind::kShared) {
    return tl::unexpected(
        config.Mismatch(key, "\"full\" in the first layer, which has none below to share with", 0));
  }
  return schedule;
}

// One character per layer, or the words of indexer_types.
Result<std::optional<Schedule>> PatternSchedule(const Fields& config, size_t layers) {
  constexpr std::string_view kKey = "index_topk_pattern";
  if (!config.Has(kKey)) {
    return std::nullopt;
  }
  std::vector<std::string> words;
  if (const auto pattern = config.String(kKey)) {
    if (pattern->find_first_not_of("FS") != std::string::npos) {
      return tl::unexpected(config.Mismatch(kKey, "the characters F and S only"));
    }
    for (const char c : *pattern) {
      words.emplace_back(c == 'F' ? "full" : "shared");
    }
  } else {
    COLI_ASSIGN_OR_RETURN(const auto list, config.MaybeWords(kKey, {"full", "shared"}));
    if (list) {
      words = *list;
    }
  }
  return ToSchedule(config, kKey, words, layers);
}

Result<Schedule> FrequencySchedule(const Fields& config, size_t layers) {
  COLI_ASSIGN_OR_RETURN(const auto frequency, config.MaybeInt("index_topk_freq", {0, kMaxLayers}));
  COLI_ASSIGN_OR_RETURN(const auto offset,
                        config.IntOr("index_skip_topk_offset", {0, kMaxLayers}, 2));
  const int64_t period = std::max<int64_t>(frequency.value_or(1), 1);
  COLI_RETURN_IF_ERROR(Require(period == 1 || offset > 0, config, "index_skip_topk_offset",
                               "at least 1: the first layer has none below to share with"));
  Schedule schedule;
  for (int64_t i = 0; i < static_cast<int64_t>(layers); ++i) {
    const bool full = std::max<int64_t>(i - offset + 1, 0) % period == 0;
    schedule.push_back(full ? IndexerKind::kFull : IndexerKind::kShared);
  }
  return schedule;
}

// indexer_types, else index_topk_pattern, else the formula of frequency and offset.
Result<Schedule> ReadIndexerSchedule(const Fields& config, size_t layers,
                                     std::vector<std::string>& warnings) {
  COLI_ASSIGN_OR_RETURN(const auto types, config.MaybeWords("indexer_types", {"full", "shared"}));
  COLI_ASSIGN_OR_RETURN(const auto pattern, PatternSchedule(config, layers));
  if (!types) {
    return pattern ? Result<Schedule>(*pattern) : FrequencySchedule(config, layers);
  }

  COLI_ASSIGN_OR_RETURN(Schedule listed, ToSchedule(config, "indexer_types", *types, layers));
  if (pattern || config.Has("index_topk_freq")) {
    COLI_ASSIGN_OR_RETURN(const Schedule other,
                          pattern ? Result<Schedule>(*pattern) : FrequencySchedule(config, layers));
    const auto [mine, theirs] = std::ranges::mismatch(listed, other);
    if (mine != listed.end()) {
      warnings.push_back(
          fmt::format("{}: indexer_types and {} disagree from layer {} on: using indexer_types",
                      config.source(), pattern ? "index_topk_pattern" : "index_topk_freq",
                      mine - listed.begin()));
    }
  }
  return listed;
}

Result<std::vector<FfnKind>> ReadFfnSchedule(const Fields& config, size_t layers) {
  COLI_ASSIGN_OR_RETURN(const auto types,
                        config.MaybeWords("mlp_layer_types", {"dense", "sparse"}));
  COLI_ASSIGN_OR_RETURN(const int64_t first_dense,
                        config.IntOr("first_k_dense_replace", {0, kMaxLayers}, 3));
  COLI_RETURN_IF_ERROR(Require(!types || types->size() >= layers, config, "mlp_layer_types",
                               fmt::format("at least {} entries", layers)));
  std::vector<FfnKind> schedule;
  for (size_t i = 0; i < layers; ++i) {
    const bool dense = types ? (*types)[i] == "dense" : i < static_cast<size_t>(first_dense);
    schedule.push_back(dense ? FfnKind::kDense : FfnKind::kSparse);
  }
  return schedule;
}

Status ReadLayers(const Fields& config, ModelConfig& model) {
  COLI_ASSIGN_OR_RETURN(const int64_t count, config.Int("num_hidden_layers", {1, kMaxLayers}));
  const auto layers = static_cast<size_t>(count);
  COLI_ASSIGN_OR_RETURN(const Schedule indexers,
                        ReadIndexerSchedule(config, layers, model.warnings));
  COLI_ASSIGN_OR_RETURN(const auto ffns, ReadFfnSchedule(config, layers));
  for (size_t i = 0; i < layers; ++i) {
    model.layers.push_back({indexers[i], ffns[i]});
  }
  return Ok();
}

}  // namespace

Status ReadGlmMoeDsa(const Fields& config, ModelConfig& model) {
  COLI_RETURN_IF_ERROR(CheckQuantization(config));
  COLI_RETURN_IF_ERROR(CheckFixedKeys(config));
  COLI_RETURN_IF_ERROR(ReadSizes(config, model));
  COLI_RETURN_IF_ERROR(ReadOthers(config, model));
  COLI_RETURN_IF_ERROR(CheckAttention(config, model));
  COLI_RETURN_IF_ERROR(CheckRouter(config, model.router));
  COLI_RETURN_IF_ERROR(ReadRope(config, model));
  return ReadLayers(config, model);
}

}  // namespace coli
