// A small tokenizer.json made by hand, for tests and fuzz targets.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace coli::testing_tokenizer {

// GLM's pattern.
inline constexpr std::string_view kPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Ids: byte b has id b, then come the results of the merges, from kWords on the added tokens of
// GLM.
inline constexpr int kWords = 272;
Json Make();

Result<Tokenizer> Parse(const Json& json);

}  // namespace coli::testing_tokenizer
