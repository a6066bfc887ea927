// The model families: each reads its own config.json into a ModelConfig.
#pragma once

#include "base/fields.h"
#include "base/result.h"
#include "model/model_config.h"

namespace coli {

// Fills in everything but what all families have in common (type, stop tokens, sampling defaults,
// overrides; see model_config.cc). Checks every range and relation. Errors name key and value.
#define COLI_FAMILY(model_type, reader) Status reader(const Fields& config, ModelConfig& model);
#include "model/families.def"
#undef COLI_FAMILY

}  // namespace coli
