// Distinct integers have distinct types, so that a layer cannot be passed where an expert is meant.
#pragma once

#include <cstdint>

namespace coli {

enum class TokenId : int32_t {};
enum class LayerId : int32_t {};   // 0-based; the MTP layers follow the last main layer
enum class ExpertId : int32_t {};  // 0-based within its layer
enum class SeqId : int32_t {};

constexpr int32_t Raw(TokenId id) { return static_cast<int32_t>(id); }
constexpr int32_t Raw(LayerId id) { return static_cast<int32_t>(id); }
constexpr int32_t Raw(ExpertId id) { return static_cast<int32_t>(id); }
constexpr int32_t Raw(SeqId id) { return static_cast<int32_t>(id); }

}  // namespace coli
