// Finds the experts of a checkpoint, in whichever of two layouts its layers have them:
//
//   one by one   mlp.experts.<e>.{gate,up}_proj.weight [I, H] and .down_proj.weight [H, I]
//   fused        mlp.experts.gate_up_proj [E, 2I, H], gate rows first, and .down_proj [E, H, I]
//
// The fused tensors may also be transposed, [E, H, 2I] and [E, I, H]. Nothing is read; every shape
// is checked.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/model_config.h"
#include "store/container.h"
#include "store/expert_store.h"

namespace coli {

// The experts of the first `layers` layers, MTP layers counting on from the main ones. Errors:
// those of Container::FindMatrix; kCorrupt for a layer that has both layouts, and for fused tensors
// whose shapes are not those above.
Result<ExpertDirectory> LocateExperts(const ModelConfig& config, const Container& container,
                                      uint32_t layers);

}  // namespace coli
