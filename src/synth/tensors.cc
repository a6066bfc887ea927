#include "synth/tensors.h"

#include <cmath>

#include "base/checked_math.h"
#include "tensor/format.h"

namespace coli {
namespace {

constexpr Format kDense{FormatId::kInt8Row};

// Deviations of what a matrix gives for inputs of deviation 1. What is added to the residual stream
// is small beside a token's own vector, so that the layers see which token it is.
constexpr float kGain = 1;
constexpr float kResidualGain = 0.5F;
constexpr float kRouterGain = 1.5F;
constexpr float kBiasDeviation = 0.05F;  // of the router's correction

class LayerList {
 public:
  LayerList(const SynthShape& shape, uint32_t layer)
      : prefix_(fmt::format("model.layers.{}.", layer)), hidden_(shape.hidden_size) {}

  void Matrix(std::string_view name, uint32_t rows, uint32_t cols, float gain = kGain,
              Format format = kDense) {
    tensors.push_back({fmt::format("{}{}.weight", prefix_, name), SynthKind::kMatrix, format, rows,
                       cols, gain / std::sqrt(static_cast<float>(cols))});
  }
  void Vector(std::string_view name, uint32_t cols, float value,
              SynthKind kind = SynthKind::kConstant) {
    tensors.push_back(
        {fmt::format("{}{}", prefix_, name), kind, Format{FormatId::kF32}, 1, cols, value});
  }
  void Ffn(std::string_view name, uint32_t inner, Format format) {
    Matrix(fmt::format("{}.down_proj", name), hidden_, inner, kResidualGain, format);
    Matrix(fmt::format("{}.gate_proj", name), inner, hidden_, kGain, format);
    Matrix(fmt::format("{}.up_proj", name), inner, hidden_, kGain, format);
  }

  std::vector<SynthTensor> tensors;

 private:
  std::string prefix_;
  uint32_t hidden_;
};

void AddAttention(const SynthShape& s, LayerList& list) {
  const uint32_t qk = s.qk_nope_head_dim + s.qk_rope_head_dim;
  const uint32_t heads = s.num_attention_heads;
  list.Vector("input_layernorm.weight", s.hidden_size, 1);
  list.Vector("post_attention_layernorm.weight", s.hidden_size, 1);
  list.Vector("self_attn.q_a_layernorm.weight", s.q_lora_rank, 1);
  list.Vector("self_attn.kv_a_layernorm.weight", s.kv_lora_rank, 1);
  list.Matrix("self_attn.q_a_proj", s.q_lora_rank, s.hidden_size);
  list.Matrix("self_attn.q_b_proj", heads * qk, s.q_lora_rank);
  list.Matrix("self_attn.kv_a_proj_with_mqa", s.kv_lora_rank + s.qk_rope_head_dim, s.hidden_size);
  list.Matrix("self_attn.kv_b_proj", heads * (s.qk_nope_head_dim + s.v_head_dim), s.kv_lora_rank);
  list.Matrix("self_attn.o_proj", s.hidden_size, heads * s.v_head_dim, kResidualGain);
}

void AddIndexer(const SynthShape& s, LayerList& list) {
  list.Vector("self_attn.indexer.k_norm.weight", s.index_head_dim, 1);
  list.Vector("self_attn.indexer.k_norm.bias", s.index_head_dim, 0);
  list.Matrix("self_attn.indexer.wk", s.index_head_dim, s.hidden_size);
  list.Matrix("self_attn.indexer.wq_b", s.index_n_heads * s.index_head_dim, s.q_lora_rank);
  list.Matrix("self_attn.indexer.weights_proj", s.index_n_heads, s.hidden_size, kGain,
              Format{FormatId::kF32});
}

void AddExperts(const SynthShape& s, Format experts, LayerList& list) {
  list.Matrix("mlp.gate", s.n_routed_experts, s.hidden_size, kRouterGain, Format{FormatId::kF32});
  list.Vector("mlp.gate.e_score_correction_bias", s.n_routed_experts, kBiasDeviation,
              SynthKind::kNormal);
  list.Ffn("mlp.shared_experts", s.moe_intermediate_size, kDense);
  for (uint32_t expert = 0; expert < s.n_routed_experts; ++expert) {
    list.Ffn(fmt::format("mlp.experts.{}", expert), s.moe_intermediate_size, experts);
  }
}

}  // namespace

uint64_t SynthTensor::code_bytes() const { return CodeBytes(format, rows, cols).value(); }
uint64_t SynthTensor::scale_bytes() const { return ScaleBytes(format, rows, cols).value(); }

TensorEntry SynthTensor::codes() const {
  const std::vector<uint64_t> shape = kind == SynthKind::kConstant || kind == SynthKind::kNormal
                                          ? std::vector<uint64_t>{cols}
                                          : std::vector<uint64_t>{rows, cols};
  switch (format.id) {
    case FormatId::kF32:
      return {name, "F32", shape, code_bytes()};
    case FormatId::kBf16:
      return {name, "BF16", shape, code_bytes()};
    case FormatId::kF16:
      return {name, "F16", shape, code_bytes()};
    case FormatId::kFp8E4m3B128:
      return {name, "F8_E4M3", shape, code_bytes()};
    case FormatId::kInt8Row:
    case FormatId::kInt4Row:
    case FormatId::kInt4Grouped:
    case FormatId::kInt2Row:
    case FormatId::kInt3G64:
    case FormatId::kMxfp4:
      break;
  }
  return {name, "U8", {code_bytes()}, code_bytes()};
}

TensorEntry SynthTensor::scales() const {
  if (format.id == FormatId::kFp8E4m3B128) {
    return {name + "_scale_inv",
            "F32",
            {CeilDiv(rows, Info(format).scale_rows), CeilDiv(cols, ScaleColumns(format))},
            scale_bytes()};
  }
  return {name + ".qs", "F32", {scale_bytes() / sizeof(float)}, scale_bytes()};
}

std::vector<SynthTensor> EndTensors(const SynthShape& s) {
  return {
      {"model.norm.weight", SynthKind::kConstant, Format{FormatId::kF32}, 1, s.hidden_size, 1},
      {"lm_head.weight", SynthKind::kHead, kDense, s.vocab_size, s.hidden_size, 1},
      {"model.embed_tokens.weight", SynthKind::kEmbedding, kDense, s.vocab_size, s.hidden_size, 1}};
}

std::vector<SynthTensor> LayerTensors(const SynthShape& s, uint32_t layer, Format experts) {
  LayerList list(s, layer);
  AddAttention(s, list);
  if (s.HasIndexer(layer)) {
    AddIndexer(s, list);
  }
  if (s.IsSparse(layer)) {
    AddExperts(s, experts, list);
  } else {
    list.Ffn("mlp", s.intermediate_size, kDense);
  }
  return std::move(list.tensors);
}

std::vector<SynthTensor> MtpTensors(const SynthShape& s, Format experts) {
  LayerList list(s, s.num_hidden_layers);
  for (const char* norm : {"enorm.weight", "hnorm.weight", "shared_head.norm.weight"}) {
    list.Vector(norm, s.hidden_size, 1);
  }
  list.Matrix("eh_proj", s.hidden_size, 2 * s.hidden_size);
  AddAttention(s, list);
  AddIndexer(s, list);
  AddExperts(s, experts, list);
  return std::move(list.tensors);
}

}  // namespace coli
