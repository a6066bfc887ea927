// What held an answer back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/token_stream.h"

namespace coli {

enum class AnswerLimit : uint8_t {
  kDisk,     // reads of experts
  kMemory,   // moving weights from memory to the cores
  kCompute,  // arithmetic, and whatever else the cores do
};

// By shares of the time that the engine worked while the request ran. The drive, when the engine
// stood still for reads for at least half of it. Otherwise memory, when reading the weights that
// were used would have taken at least half of the rest at the speed at which this machine reads
// memory (measured when the model was loaded; never for models so small that some cache holds
// them). Otherwise the cores. Nothing when nothing was computed.
std::optional<AnswerLimit> LimitOf(const GenerationStats& stats);

std::string_view LimitName(AnswerLimit limit);  // "disk", "memory", "compute"

}  // namespace coli
