#include "engine/fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/json.h"
#include "base/shown.h"
#include "sys/file.h"

namespace coli {
namespace {

constexpr const char* kSchema = "colibri.reference/1";
constexpr uint64_t kMaxJsonBytes = uint64_t{64} << 20;
constexpr int64_t kMaxPosition = int64_t{1} << 30;

Result<FixtureCase> ReadCase(const Json& json, const std::string& source, size_t index) {
  COLI_ASSIGN_OR_RETURN(const Fields fields,
                        Fields::Of(json, source, fmt::format("cases[{}].", index)));
  FixtureCase c;
  COLI_ASSIGN_OR_RETURN(c.name, fields.String("name"));
  COLI_ASSIGN_OR_RETURN(const auto ids, fields.MaybeInts("ids", {0, kMaxPosition}));
  if (!ids || ids->empty()) {
    return tl::unexpected<Error>(fields.Mismatch("ids", "a list of at least one token id"));
  }
  for (const int64_t id : *ids) {
    c.ids.push_back(TokenId{static_cast<int32_t>(id)});
  }
  const auto length = static_cast<int64_t>(c.ids.size());
  COLI_ASSIGN_OR_RETURN(const int64_t prompt, fields.Int("prompt_length", {1, length}));
  c.prompt_length = static_cast<uint32_t>(prompt);
  COLI_ASSIGN_OR_RETURN(c.greedy, fields.BoolOr("greedy", false));
  COLI_ASSIGN_OR_RETURN(const int64_t first, fields.IntOr("first_position", {0, kMaxPosition}, 0));
  c.first_position = static_cast<uint32_t>(first);
  COLI_ASSIGN_OR_RETURN(c.logits, fields.String("logits"));
  COLI_ASSIGN_OR_RETURN(c.mtp_logits, fields.MaybeString("mtp_logits"));
  if (c.mtp_logits && length < 2) {
    return tl::unexpected<Error>(
        fields.Mismatch("ids", "at least two, because there are mtp_logits"));
  }
  COLI_ASSIGN_OR_RETURN(const auto inconclusive,
                        fields.MaybeInts("inconclusive_positions", {0, length - 1}));
  if (inconclusive && !inconclusive->empty()) {
    c.first_inconclusive = static_cast<uint32_t>(*std::ranges::min_element(*inconclusive));
  }
  return c;
}

Result<std::optional<float>> ReadLatentNormEps(const Json& json, const Fields& top) {
  COLI_ASSIGN_OR_RETURN(const auto options, top.MaybeObject("engine_options"));
  if (!options) {
    return std::nullopt;
  }
  for (const auto& [name, value] : json["engine_options"].items()) {
    if (name != "latent_norm_eps") {
      return Fail(ErrorCode::kUnsupported,
                  "{}: engine_options.{}: unknown option; known: latent_norm_eps", top.source(),
                  Shown(Json(name)));
    }
  }
  COLI_ASSIGN_OR_RETURN(const auto eps, options->MaybeFloat("latent_norm_eps", {1e-12, 1}));
  return eps ? std::optional(static_cast<float>(*eps)) : std::nullopt;
}

}  // namespace

Result<Reference> ParseReference(std::string_view text, std::string_view source) {
  COLI_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  COLI_ASSIGN_OR_RETURN(const Fields top, Fields::Of(json, source));
  COLI_ASSIGN_OR_RETURN(const std::string schema, top.String("schema"));
  if (schema != kSchema) {
    return tl::unexpected<Error>(top.Mismatch("schema", fmt::format("\"{}\"", kSchema)));
  }
  Reference reference;
  COLI_ASSIGN_OR_RETURN(const auto tolerance, top.MaybeObject("tolerance"));
  if (!tolerance) {
    return tl::unexpected<Error>(top.Mismatch("tolerance", "an object"));
  }
  COLI_ASSIGN_OR_RETURN(reference.tolerance, tolerance->Float("logit_error_over_range", {0, 1}));
  COLI_ASSIGN_OR_RETURN(reference.latent_norm_eps, ReadLatentNormEps(json, top));
  if (!json.contains("cases") || !json["cases"].is_array() || json["cases"].empty()) {
    return tl::unexpected<Error>(top.Mismatch("cases", "a list of at least one case"));
  }
  for (size_t i = 0; i < json["cases"].size(); ++i) {
    COLI_ASSIGN_OR_RETURN(FixtureCase c, ReadCase(json["cases"][i], top.source(), i));
    reference.cases.push_back(std::move(c));
  }
  return reference;
}

Result<Fixture> Fixture::Open(const std::filesystem::path& directory) {
  Fixture fixture;
  fixture.directory_ = directory;
  COLI_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(fixture.path(), kMaxJsonBytes));
  COLI_ASSIGN_OR_RETURN(fixture.reference_, ParseReference(text, fixture.path()));
  COLI_ASSIGN_OR_RETURN(fixture.file_, SafetensorsFile::Open(directory / "reference.safetensors"));
  for (const SafetensorsHeader::Entry& entry : fixture.file_->header().entries()) {
    fixture.tensors_.emplace(entry.name, fixture.file_->Tensor(entry));
  }
  return fixture;
}

Result<ReferenceMatrix> Fixture::Read(const std::string& name, uint32_t rows, uint32_t cols) const {
  const std::string& path = file_->file().path();
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return Fail(ErrorCode::kNotFound, "{}: tensor {} is missing", path, name);
  }
  const StoredTensor& tensor = found->second;
  const std::vector<uint64_t> shape{rows, cols};
  if (tensor.dtype != DType::kF32 || tensor.shape != shape) {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {}: expected F32 {}, found {} {}", path, name,
                ShapeText(shape), Name(tensor.dtype), ShapeText(tensor.shape));
  }
  ReferenceMatrix matrix{rows, cols, std::vector<float>(size_t{rows} * cols)};
  COLI_RETURN_IF_ERROR(
      tensor.file->ReadExact(tensor.offset, std::as_writable_bytes(std::span(matrix.values))));
  if (!std::ranges::all_of(matrix.values, [](float v) { return std::isfinite(v); })) {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {}: a value is not finite", path, name);
  }
  return matrix;
}

}  // namespace coli
