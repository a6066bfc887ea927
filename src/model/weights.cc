#include "model/weights.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "model/expert_catalog.h"

namespace coli {
namespace {

// The checkpoint's tensors in words: calls visitor.Matrix(view, name, rows, cols) and
// visitor.Vector(floats, name, count) for every always-used tensor. Names and shapes
// are those of the parameters of transformers' GlmMoeDsaForCausalLM.
template <class Visitor>
class Walk {
 public:
  Walk(const ModelConfig& config, bool with_mtp, Visitor& visitor)
      : config_(config), hidden_(config.hidden_size), with_mtp_(with_mtp), visit_(visitor) {}

  Status Run(ModelWeights& w) {
    COLI_RETURN_IF_ERROR(
        visit_.Matrix(w.embed, "model.embed_tokens.weight", config_.vocab_size, hidden_));
    w.layers.resize(config_.num_layers());
    for (uint32_t i = 0; i < config_.num_layers(); ++i) {
      COLI_RETURN_IF_ERROR(Layer(w.layers[i], i));
    }
    COLI_RETURN_IF_ERROR(visit_.Vector(w.final_norm, "model.norm.weight", hidden_));
    if (!config_.tied_embeddings) {
      COLI_RETURN_IF_ERROR(visit_.Matrix(w.lm_head, "lm_head.weight", config_.vocab_size, hidden_));
    }
    w.mtp.resize(with_mtp_ ? config_.mtp_layers : 0);
    for (uint32_t j = 0; j < w.mtp.size(); ++j) {
      COLI_RETURN_IF_ERROR(Mtp(w.mtp[j], config_.num_layers() + j));
    }
    return Ok();
  }

 private:
  static std::string Prefix(uint32_t layer) { return fmt::format("model.layers.{}.", layer); }

  Status Layer(LayerWeights& w, uint32_t i) {
    const std::string p = Prefix(i);
    const LayerConfig kind = config_.layer(LayerId{static_cast<int32_t>(i)});
    COLI_RETURN_IF_ERROR(visit_.Vector(w.input_norm, p + "input_layernorm.weight", hidden_));
    COLI_RETURN_IF_ERROR(Attention(w.attention, p + "self_attn."));
    if (kind.indexer == IndexerKind::kFull) {
      COLI_RETURN_IF_ERROR(Indexer(w.indexer.emplace(), p + "self_attn.indexer."));
    }
    COLI_RETURN_IF_ERROR(
        visit_.Vector(w.post_attention_norm, p + "post_attention_layernorm.weight", hidden_));
    return kind.ffn == FfnKind::kDense
               ? Ffn(w.dense.emplace(), p + "mlp.", config_.dense_intermediate_size)
               : Moe(w.moe.emplace(), p + "mlp.");
  }

  Status Attention(AttentionWeights& w, const std::string& p) {
    const AttentionConfig& a = config_.attention;
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.q_a, p + "q_a_proj.weight", a.q_lora_rank, hidden_));
    COLI_RETURN_IF_ERROR(visit_.Vector(w.q_a_norm, p + "q_a_layernorm.weight", a.q_lora_rank));
    COLI_RETURN_IF_ERROR(
        visit_.Matrix(w.q_b, p + "q_b_proj.weight", a.heads * a.qk_head_dim(), a.q_lora_rank));
    COLI_RETURN_IF_ERROR(
        visit_.Matrix(w.kv_a, p + "kv_a_proj_with_mqa.weight", a.latent_dim(), hidden_));
    COLI_RETURN_IF_ERROR(visit_.Vector(w.kv_a_norm, p + "kv_a_layernorm.weight", a.kv_lora_rank));
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.kv_b, p + "kv_b_proj.weight",
                                       a.heads * (a.qk_nope_head_dim + a.v_head_dim),
                                       a.kv_lora_rank));
    return visit_.Matrix(w.o, p + "o_proj.weight", hidden_, a.heads * a.v_head_dim);
  }

  Status Indexer(IndexerWeights& w, const std::string& p) {
    const IndexerConfig& x = config_.indexer;
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.wq_b, p + "wq_b.weight", x.heads * x.head_dim,
                                       config_.attention.q_lora_rank));
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.wk, p + "wk.weight", x.head_dim, hidden_));
    COLI_RETURN_IF_ERROR(visit_.Vector(w.k_norm, p + "k_norm.weight", x.head_dim));
    COLI_RETURN_IF_ERROR(visit_.Vector(w.k_norm_bias, p + "k_norm.bias", x.head_dim));
    return visit_.Matrix(w.weights_proj, p + "weights_proj.weight", x.heads, hidden_);
  }

  Status Ffn(FfnView& w, const std::string& p, uint32_t inner) {
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.gate, p + "gate_proj.weight", inner, hidden_));
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.up, p + "up_proj.weight", inner, hidden_));
    return visit_.Matrix(w.down, p + "down_proj.weight", hidden_, inner);
  }

  Status Moe(MoeWeights& w, const std::string& p) {
    COLI_RETURN_IF_ERROR(
        visit_.Matrix(w.router, p + "gate.weight", config_.router.experts, hidden_));
    COLI_RETURN_IF_ERROR(visit_.Vector(w.correction_bias, p + "gate.e_score_correction_bias",
                                       config_.router.experts));
    if (config_.shared_experts == 0) {
      return Ok();
    }
    return Ffn(w.shared.emplace(), p + "shared_experts.",
               config_.expert_intermediate_size * config_.shared_experts);
  }

  Status Mtp(MtpWeights& w, uint32_t i) {
    const std::string p = Prefix(i);
    COLI_RETURN_IF_ERROR(visit_.Vector(w.enorm, p + "enorm.weight", hidden_));
    COLI_RETURN_IF_ERROR(visit_.Vector(w.hnorm, p + "hnorm.weight", hidden_));
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.eh_proj, p + "eh_proj.weight", hidden_, 2 * hidden_));
    COLI_RETURN_IF_ERROR(Layer(w.layer, i));
    return visit_.Vector(w.head_norm, p + "shared_head.norm.weight", hidden_);
  }

  const ModelConfig& config_;
  const uint32_t hidden_;
  const bool with_mtp_;
  Visitor& visit_;
};

template <class Visitor>
Status WalkWeights(const ModelConfig& config, bool with_mtp, Visitor& visitor,
                   ModelWeights& weights) {
  return Walk<Visitor>(config, with_mtp, visitor).Run(weights);
}

// Lists every tensor and adds up what the matrices will take.
struct Cataloguer {
  const Container& container;
  WeightCatalog& catalog;

  Status Matrix(WeightView&, const std::string& name, uint32_t rows, uint32_t cols) {
    COLI_ASSIGN_OR_RETURN(const StoredMatrix stored, container.FindMatrix(name, rows, cols));
    catalog.dense.push_back({name, stored.format, stored.bytes()});
    catalog.matrix_bytes += AlignUp(Container::PackedBytes(stored), 64);
    return Ok();
  }
  Status Vector(std::vector<float>&, const std::string& name, uint32_t count) {
    COLI_ASSIGN_OR_RETURN(const StoredVector stored, container.FindVector(name, count));
    catalog.dense.push_back({name, Format{stored.format}, stored.extent.bytes});
    catalog.vector_bytes += count * sizeof(float);
    return Ok();
  }
};

// Reads every tensor to its place.
struct Loader {
  const Container& container;
  std::span<std::byte> free;
  uint64_t total = 0;
  const std::function<void(uint64_t, uint64_t)>& progress;

  Status Matrix(WeightView& view, const std::string& name, uint32_t rows, uint32_t cols) {
    COLI_ASSIGN_OR_RETURN(const StoredMatrix stored, container.FindMatrix(name, rows, cols));
    COLI_ASSIGN_OR_RETURN(view, container.Read(stored, free));
    free = free.subspan(AlignUp(Container::PackedBytes(stored), 64));
    if (progress) {
      progress(total - free.size(), total);
    }
    return Ok();
  }
  Status Vector(std::vector<float>& floats, const std::string& name, uint32_t count) {
    COLI_ASSIGN_OR_RETURN(floats, container.ReadVector(name, count));
    return Ok();
  }
};

// Prices the experts and puts them into the catalog.
void CountExperts(ExpertDirectory experts, WeightCatalog& catalog) {
  for (const auto& layer : experts) {
    for (const ExpertRecord& record : layer) {
      const uint64_t bytes = ExpertStore::SlotBytes(record);
      catalog.expert_bytes += bytes;
      catalog.largest_expert_bytes = std::max(catalog.largest_expert_bytes, bytes);
      ++catalog.expert_count;
    }
  }
  catalog.experts = std::move(experts);
}

Status RefuseBiases(const Container& container) {
  for (const auto& [name, tensor] : container.tensors()) {
    if (name.ends_with("_proj.bias") || name.ends_with("_proj_with_mqa.bias") ||
        name.ends_with("_proj_bias")) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: tensor {}: this model family has no projection biases",
                  container.directory().string(), name);
    }
  }
  return Ok();
}

}  // namespace

Result<WeightCatalog> LocateWeights(const ModelConfig& config, const Container& container,
                                    bool with_mtp) {
  COLI_RETURN_IF_ERROR(RefuseBiases(container));
  WeightCatalog catalog;
  Cataloguer cataloguer{container, catalog};
  ModelWeights unused;
  COLI_RETURN_IF_ERROR(WalkWeights(config, with_mtp, cataloguer, unused));
  const uint32_t layers = config.num_layers() + (with_mtp ? config.mtp_layers : 0);
  COLI_ASSIGN_OR_RETURN(ExpertDirectory experts, LocateExperts(config, container, layers));
  CountExperts(std::move(experts), catalog);
  return catalog;
}

Result<ModelWeights> LoadWeights(const ModelConfig& config, const Container& container,
                                 const WeightCatalog& catalog, bool with_mtp,
                                 const std::function<void(uint64_t, uint64_t)>& progress) {
  ModelWeights weights;
  COLI_ASSIGN_OR_RETURN(weights.bytes, AlignedBuffer::Allocate(catalog.matrix_bytes));
  Loader loader{container, weights.bytes.bytes(), catalog.matrix_bytes, progress};
  COLI_RETURN_IF_ERROR(WalkWeights(config, with_mtp, loader, weights));
  if (config.tied_embeddings) {
    weights.lm_head = weights.embed;
  }
  return weights;
}

}  // namespace coli
