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

// The two ways in which fused tensors have the axes of a matrix.
enum class AxisOrder : uint8_t { kOutIn, kInOut };

// One layer's stacks, with rows and columns exchanged for kInOut.
struct StackShapes {
  StackShape gate_up;
  StackShape down;
};

StackShapes ShapesOf(const ModelConfig& config, AxisOrder order) {
  const uint32_t count = config.router.experts;
  const uint32_t inner = config.expert_intermediate_size;
  const uint32_t hidden = config.hidden_size;
  if (order == AxisOrder::kOutIn) {
    return {{count, 2 * inner, hidden}, {count, hidden, inner}};
  }
  return {{count, hidden, 2 * inner}, {count, inner, hidden}};
}

bool HasShape(const Container& container, const std::string& name, StackShape shape) {
  const auto found = container.tensors().find(name);
  return found != container.tensors().end() &&
         found->second.shape == std::vector<uint64_t>{shape.count, shape.rows, shape.cols};
}

// The order that both shapes agree with. A square tensor agrees with both orders, but 2I == H and
// I == H cannot both hold, so the other tensor tells. Where neither order fits, that of the
// parameters of transformers' GlmMoeDsaForCausalLM is expected.
AxisOrder OrderOf(const ModelConfig& config, const Container& container, const std::string& gate_up,
                  const std::string& down) {
  const StackShapes transposed = ShapesOf(config, AxisOrder::kInOut);
  const StackShapes own = ShapesOf(config, AxisOrder::kOutIn);
  const auto fit = [&](const StackShapes& shapes) {
    return HasShape(container, gate_up, shapes.gate_up) && HasShape(container, down, shapes.down);
  };
  return !fit(own) && fit(transposed) ? AxisOrder::kInOut : AxisOrder::kOutIn;
}

Result<Experts> LocateFused(const ModelConfig& config, const Container& container,
                            const std::string& prefix) {
  const std::string gate_up_name = prefix + "gate_up_proj";
  const std::string down_name = prefix + "down_proj";
  const AxisOrder order = OrderOf(config, container, gate_up_name, down_name);
  const StackShapes shapes = ShapesOf(config, order);
  COLI_ASSIGN_OR_RETURN(const auto gate_up, container.FindStack(gate_up_name, shapes.gate_up));
  COLI_ASSIGN_OR_RETURN(const auto down, container.FindStack(down_name, shapes.down));
  const uint32_t inner = config.expert_intermediate_size;
  const auto as_out_in = [&](const StoredMatrix& matrix) {
    return order == AxisOrder::kOutIn ? matrix : matrix.Transposed();
  };
  Experts experts;
  for (uint32_t e = 0; e < config.router.experts; ++e) {
    const StoredMatrix both = as_out_in(gate_up[e]);
    experts.push_back({both.Rows(0, inner), both.Rows(inner, inner), as_out_in(down[e])});
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
