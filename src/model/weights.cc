#include "model/weights.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "model/expert_catalog.h"
#include "store/conversion.h"

namespace coli {
namespace {

// The checkpoint's tensors in words: calls visitor.Matrix(view, name, rows, cols),
// visitor.Chooser(view, name, rows, cols) for matrices whose products choose what is computed at
// all, and visitor.Vector(floats, name, count) for every always-used tensor. Names and shapes are
// those of the parameters of transformers' GlmMoeDsaForCausalLM.
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
    return visit_.Chooser(w.weights_proj, p + "weights_proj.weight", x.heads, hidden_);
  }

  Status Ffn(FfnView& w, const std::string& p, uint32_t inner) {
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.gate, p + "gate_proj.weight", inner, hidden_));
    COLI_RETURN_IF_ERROR(visit_.Matrix(w.up, p + "up_proj.weight", inner, hidden_));
    return visit_.Matrix(w.down, p + "down_proj.weight", hidden_, inner);
  }

  Status Moe(MoeWeights& w, const std::string& p) {
    COLI_RETURN_IF_ERROR(
        visit_.Chooser(w.router, p + "gate.weight", config_.router.experts, hidden_));
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

Result<StoredMatrix> FindHeld(const Container& container, const std::string& name, uint32_t rows,
                              uint32_t cols, std::optional<Format> format) {
  COLI_ASSIGN_OR_RETURN(StoredMatrix stored, container.FindMatrix(name, rows, cols));
  if (format) {
    COLI_RETURN_IF_ERROR(ConvertTo(*format, stored));
  }
  return stored;
}

void CountConversion(const StoredMatrix& matrix, WeightCatalog& catalog) {
  catalog.largest_conversion_bytes =
      std::max(catalog.largest_conversion_bytes, ConversionBytes(matrix));
}

// Lists every tensor and adds up what the matrices will take.
struct Cataloguer {
  const Container& container;
  WeightCatalog& catalog;

  Status Matrix(WeightView&, const std::string& name, uint32_t rows, uint32_t cols) {
    return Add(FindHeld(container, name, rows, cols, catalog.formats.dense));
  }
  Status Chooser(WeightView&, const std::string& name, uint32_t rows, uint32_t cols) {
    return Add(container.FindMatrix(name, rows, cols));
  }
  Status Vector(std::vector<float>&, const std::string& name, uint32_t count) {
    COLI_ASSIGN_OR_RETURN(const StoredVector stored, container.FindVector(name, count));
    catalog.dense.push_back({name, Format{stored.format}, stored.extent.bytes});
    catalog.vector_bytes += count * sizeof(float);
    return Ok();
  }

  Status Add(Result<StoredMatrix> matrix) {
    COLI_RETURN_IF_ERROR(matrix);
    catalog.dense.push_back(EntryOf(*matrix));
    catalog.matrix_bytes += AlignUp(HeldBytes(*matrix), kMatrixAlignment);
    CountConversion(*matrix, catalog);
    return Ok();
  }
};

// Reads every tensor to its place.
struct Loader {
  const Container& container;
  const HeldFormats& formats;
  ThreadPool& pool;
  std::span<std::byte> free;
  uint64_t total = 0;
  const std::function<void(uint64_t, uint64_t)>& progress;

  Status Matrix(WeightView& view, const std::string& name, uint32_t rows, uint32_t cols) {
    return Read(view, FindHeld(container, name, rows, cols, formats.dense));
  }
  Status Chooser(WeightView& view, const std::string& name, uint32_t rows, uint32_t cols) {
    return Read(view, container.FindMatrix(name, rows, cols));
  }
  Status Vector(std::vector<float>& floats, const std::string& name, uint32_t count) {
    COLI_ASSIGN_OR_RETURN(floats, container.ReadVector(name, count));
    return Ok();
  }

  Status Read(WeightView& view, Result<StoredMatrix> matrix) {
    COLI_RETURN_IF_ERROR(matrix);
    if (matrix->converts()) {
      const auto converted = [&](uint64_t bytes) { Report(bytes); };
      COLI_ASSIGN_OR_RETURN(view, ReadConverted(*matrix, free, pool, converted));
    } else {
      COLI_ASSIGN_OR_RETURN(view, container.Read(*matrix, free));
    }
    free = free.subspan(AlignUp(HeldBytes(*matrix), kMatrixAlignment));
    Report(0);
    return Ok();
  }
  // `bytes` of the matrix being read are there.
  void Report(uint64_t bytes) const {
    if (progress) {
      progress(total - free.size() + bytes, total);
    }
  }
};

// Lets the experts be held as asked for, prices them and puts them into the catalog.
Status AddExperts(ExpertDirectory experts, WeightCatalog& catalog) {
  for (auto& layer : experts) {
    for (ExpertRecord& record : layer) {
      for (StoredMatrix* matrix : {&record.gate, &record.up, &record.down}) {
        if (catalog.formats.experts) {
          COLI_RETURN_IF_ERROR(ConvertTo(*catalog.formats.experts, *matrix));
        }
        CountConversion(*matrix, catalog);
      }
      const uint64_t bytes = ExpertReader::SlotBytes(record);
      catalog.expert_bytes += bytes;
      catalog.largest_expert_bytes = std::max(catalog.largest_expert_bytes, bytes);
      catalog.largest_staging_bytes =
          std::max(catalog.largest_staging_bytes, ExpertReader::StagingBytes(record));
      ++catalog.expert_count;
    }
  }
  catalog.experts = std::move(experts);
  return Ok();
}

// Tensors that mean another model, or another number format, than the ones read here.
Status RefuseForeignTensors(const Container& container) {
  constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
      {"_proj.bias", "this model family has no projection biases"},
      {"_proj_with_mqa.bias", "this model family has no projection biases"},
      {"_proj_bias", "this model family has no projection biases"},
      {".weight_scale", "this way to quantise is not implemented"},
      {".weight_scale_2", "this way to quantise is not implemented"},
      {".weight_packed", "this way to quantise is not implemented"},
      {".input_scale", "static scales of activations are not implemented"},
      {".k_scale", "static scales of the KV cache are not implemented"},
      {".v_scale", "static scales of the KV cache are not implemented"},
  };
  for (const auto& file : container.files()) {
    for (const auto& entry : file->header().entries()) {
      for (const auto& [suffix, reason] : kForeign) {
        if (entry.name.ends_with(suffix)) {
          return Fail(ErrorCode::kUnsupported, "{}: tensor {}: {}", container.directory().string(),
                      entry.name, reason);
        }
      }
    }
  }
  return Ok();
}

}  // namespace

WeightEntry EntryOf(const StoredMatrix& matrix) {
  return {matrix.name, matrix.held(), matrix.converts() ? HeldBytes(matrix) : matrix.bytes()};
}

Result<WeightCatalog> LocateWeights(const ModelConfig& config, const Container& container,
                                    bool with_mtp, const HeldFormats& formats) {
  COLI_RETURN_IF_ERROR(RefuseForeignTensors(container));
  WeightCatalog catalog;
  catalog.formats = formats;
  Cataloguer cataloguer{container, catalog};
  ModelWeights unused;
  COLI_RETURN_IF_ERROR(WalkWeights(config, with_mtp, cataloguer, unused));
  const uint32_t layers = config.num_layers() + (with_mtp ? config.mtp_layers : 0);
  COLI_ASSIGN_OR_RETURN(ExpertDirectory experts, LocateExperts(config, container, layers));
  COLI_RETURN_IF_ERROR(AddExperts(std::move(experts), catalog));
  return catalog;
}

Result<ModelWeights> LoadWeights(const ModelConfig& config, const Container& container,
                                 const WeightCatalog& catalog, bool with_mtp, ThreadPool& pool,
                                 const std::function<void(uint64_t, uint64_t)>& progress) {
  ModelWeights weights;
  COLI_ASSIGN_OR_RETURN(weights.bytes, AlignedBuffer::Allocate(catalog.matrix_bytes));
  Loader loader{container, catalog.formats, pool, weights.bytes.bytes(), catalog.matrix_bytes,
                progress};
  COLI_RETURN_IF_ERROR(WalkWeights(config, with_mtp, loader, weights));
  if (config.tied_embeddings) {
    weights.lm_head = weights.embed;
  }
  return weights;
}

}  // namespace coli
