#include "model/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "base/fields.h"
#include "model/families/family.h"
#include "sys/file.h"

namespace coli {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{16} << 20;
constexpr size_t kMaxFileValues = size_t{1} << 18;
constexpr FloatRange kEpsilonRange{1e-12, 1.0};

struct Family {
  std::string_view model_type;
  Status (*read)(const Fields&, ModelConfig&);
};

constexpr std::array kFamilies = {
#define COLI_FAMILY(model_type, reader) Family{model_type, reader},
#include "model/families.def"
#undef COLI_FAMILY
};

Result<const Family*> FindFamily(const Fields& config) {
  COLI_ASSIGN_OR_RETURN(const std::string model_type, config.String("model_type"));
  const auto family = std::ranges::find(kFamilies, model_type, &Family::model_type);
  if (family != kFamilies.end()) {
    return &*family;
  }

  std::vector<std::string_view> known;
  for (const Family& each : kFamilies) {
    known.push_back(each.model_type);
  }
  return tl::unexpected(
      config.Unsupported("model_type", fmt::format("one of {}", fmt::join(known, ", "))));
}

// Appends the stop tokens of one file. An id beyond the vocabulary can never be sampled: worth a
// line, not an error. False: the file does not say; an empty list says that there are none.
Result<bool> AddStopTokens(const Fields& fields, ModelConfig& model) {
  COLI_ASSIGN_OR_RETURN(const auto ids, fields.MaybeInts("eos_token_id", {0, INT32_MAX}));
  if (!ids) {
    return false;
  }
  for (const int64_t id : *ids) {
    const TokenId token{static_cast<int32_t>(id)};
    if (id >= model.vocab_size) {
      model.warnings.push_back(
          fmt::format("{}: eos_token_id: ignored {}, the vocabulary has {} tokens", fields.source(),
                      id, model.vocab_size));
    } else if (std::ranges::find(model.eos_tokens, token) == model.eos_tokens.end()) {
      model.eos_tokens.push_back(token);
    }
  }
  return true;
}

Status ReadGeneration(const Json& json, std::string_view config_source, ModelConfig& model) {
  const std::filesystem::path beside =
      std::filesystem::path(config_source).parent_path() / "generation_config.json";
  COLI_ASSIGN_OR_RETURN(const Fields fields, Fields::Of(json, beside.string()));
  COLI_RETURN_IF_ERROR(AddStopTokens(fields, model));

  COLI_ASSIGN_OR_RETURN(const auto temperature, fields.MaybeFloat("temperature", {0, 100}));
  COLI_ASSIGN_OR_RETURN(const auto top_p, fields.MaybeFloat("top_p", {0, 1}));
  COLI_ASSIGN_OR_RETURN(const auto top_k, fields.MaybeInt("top_k", {0, INT32_MAX}));
  if (temperature) {
    model.temperature = static_cast<float>(*temperature);
  }
  if (top_p) {
    model.top_p = static_cast<float>(*top_p);
  }
  if (top_k) {
    model.top_k = static_cast<uint32_t>(*top_k);
  }
  return Ok();
}

Status ApplyOverrides(const ModelOverrides& overrides, ModelConfig& model) {
  model.latent_norm_eps = overrides.latent_norm_eps.value_or(model.rms_norm_eps);
  const double eps = model.latent_norm_eps;
  if (eps >= kEpsilonRange.min && eps <= kEpsilonRange.max) {
    return Ok();
  }
  return Fail(ErrorCode::kInvalidArgument,
              "latent_norm_eps: expected a number in [{}, {}], found {}", kEpsilonRange.min,
              kEpsilonRange.max, eps);
}

Result<Json> ReadJsonFile(const std::filesystem::path& path) {
  COLI_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxFileBytes));
  return ParseJson(text, path.string(), {.max_values = kMaxFileValues});
}

}  // namespace

LayerConfig ModelConfig::layer(LayerId id) const {
  const auto index = static_cast<size_t>(Raw(id));
  COLI_CHECK(Raw(id) >= 0 && index < layers.size() + mtp_layers);
  return index < layers.size() ? layers[index] : LayerConfig{IndexerKind::kFull, FfnKind::kSparse};
}

Result<ModelConfig> ParseModelConfig(const Json& config, const Json* generation,
                                     std::string_view source, const ModelOverrides& overrides) {
  COLI_ASSIGN_OR_RETURN(Fields fields, Fields::Of(config, source));
  // Multimodal relatives keep the language model's facts in an object of their own.
  COLI_ASSIGN_OR_RETURN(const auto text_config, fields.MaybeObject("text_config"));
  if (text_config) {
    fields = text_config->Within(fields);
  }

  ModelConfig model{};
  COLI_ASSIGN_OR_RETURN(const Family* const family, FindFamily(fields));
  model.model_type = family->model_type;
  COLI_RETURN_IF_ERROR(family->read(fields, model));
  COLI_ASSIGN_OR_RETURN(const bool said, AddStopTokens(fields, model));
  if (generation != nullptr) {
    COLI_RETURN_IF_ERROR(ReadGeneration(*generation, source, model));
  }
  if (model.eos_tokens.empty() && !said) {
    model.warnings.push_back(
        fmt::format("{}: no eos_token_id: answers end at their length limit only", source));
  }
  COLI_RETURN_IF_ERROR(ApplyOverrides(overrides, model));
  return model;
}

Result<ModelConfig> LoadModelConfig(const std::filesystem::path& directory,
                                    const ModelOverrides& overrides) {
  const std::filesystem::path path = directory / "config.json";
  COLI_ASSIGN_OR_RETURN(const Json config, ReadJsonFile(path));

  auto generation = ReadJsonFile(directory / "generation_config.json");
  if (!generation && generation.error().code != ErrorCode::kNotFound) {
    return tl::unexpected(std::move(generation).error());
  }
  return ParseModelConfig(config, generation ? &*generation : nullptr, path.string(), overrides);
}

}  // namespace coli
