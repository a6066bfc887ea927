// Vectors of tokens that come in topics: what makes consecutive tokens of a synthetic model choose
// like experts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace coli {

// A matrix in int8-row.
struct TokenMatrix {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
};

// Tokens with the same one share a part of their vectors.
uint32_t TopicOf(uint32_t token);
// [tokens, hidden], elements of deviation 1: common, topic and own part.
Result<TokenMatrix> MakeEmbedding(uint32_t tokens, uint32_t hidden, uint64_t seed);
// [tokens, hidden]: the topic's part of the embedding with the same seed, and an own part, scaled
// to logits of a deviation of about 2.
Result<TokenMatrix> MakeHead(uint32_t tokens, uint32_t hidden, uint64_t seed);

}  // namespace coli
