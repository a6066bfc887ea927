#include "model/expert_catalog.h"

#include <string>
#include <utility>
#include <vector>

namespace coli {
namespace {

using Experts = std::vector<ExpertRecord>;  // of one layer

// The names of one layer's experts begin with this.
std::string Prefix(uint32_t layer) { return fmt::format("model.layers.{}.mlp.experts.", layer); }

Result<Experts> LocateOneByOne(const ModelConfig& config, const Container& container,
                               const std::string& prefix) {
  const uint32_t inner = config.expert_intermediate_size;
  const uint32_t hidden = config.hidden_size;
  Experts experts;
  for (uint32_t e = 0; e < config.router.experts; ++e) {
    const std::string p = fmt::format("{}{}.", prefix, e);
    ExpertRecord record;
    COLI_ASSIGN_OR_RETURN(record.gate, container.FindMatrix(p + "gate_proj.weight", inner, hidden));
    COLI_ASSIGN_OR_RETURN(record.up, container.FindMatrix(p + "up_proj.weight", inner, hidden));
    COLI_ASSIGN_OR_RETURN(record.down, container.FindMatrix(p + "down_proj.weight", hidden, inner));
    experts.push_back(std::move(record));
  }
  return experts;
}

Result<Experts> LocateFused(const ModelConfig& config, const Container& container,
                            const std::string& prefix) {
  const uint32_t count = config.router.experts;
  const uint32_t inner = config.expert_intermediate_size;
  const uint32_t hidden = config.hidden_size;
  COLI_ASSIGN_OR_RETURN(const auto gate_up,
                        container.FindStack(prefix + "gate_up_proj", {count, 2 * inner, hidden}));
  COLI_ASSIGN_OR_RETURN(auto down,
                        container.FindStack(prefix + "down_proj", {count, hidden, inner}));
  Experts experts;
  for (uint32_t e = 0; e < count; ++e) {
    experts.push_back({gate_up[e].Rows(0, inner), gate_up[e].Rows(inner, inner), down[e]});
  }
  return experts;
}

Result<Experts> LocateLayer(const ModelConfig& config, const Container& container, uint32_t layer) {
  const std::string prefix = Prefix(layer);
  if (!container.Has(prefix + "gate_up_proj") && !container.Has(prefix + "down_proj")) {
    return LocateOneByOne(config, container, prefix);
  }
  if (container.Has(prefix + "0.gate_proj.weight")) {
    return Fail(ErrorCode::kCorrupt,
                "{}: layer {}: expected experts either one by one or fused, found both "
                "{}0.gate_proj.weight and {}gate_up_proj",
                container.directory().string(), layer, prefix, prefix);
  }
  return LocateFused(config, container, prefix);
}

}  // namespace

Result<ExpertDirectory> LocateExperts(const ModelConfig& config, const Container& container,
                                      uint32_t layers) {
  ExpertDirectory directory(layers);
  for (uint32_t layer = 0; layer < layers; ++layer) {
    if (config.layer(LayerId{static_cast<int32_t>(layer)}).ffn == FfnKind::kSparse) {
      COLI_ASSIGN_OR_RETURN(directory[layer], LocateLayer(config, container, layer));
    }
  }
  return directory;
}

}  // namespace coli
