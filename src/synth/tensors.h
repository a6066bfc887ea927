// Which tensors a synthetic model has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/safetensors_writer.h"
#include "synth/shape.h"
#include "tensor/format_id.h"

namespace coli {

enum class SynthKind : uint8_t {
  kMatrix,     // rows of a pool
  kConstant,   // a vector of `deviation`
  kNormal,     // a Gaussian vector
  kEmbedding,  // vectors of tokens
  kHead,       // what they are recognised by
};

struct SynthTensor {
  std::string name;
  SynthKind kind = SynthKind::kMatrix;
  Format format{FormatId::kF32};
  uint32_t rows = 1;
  uint32_t cols = 0;
  float deviation = 1;

  uint64_t code_bytes() const;
  uint64_t scale_bytes() const;
  // As they are in a file.
  TensorEntry codes() const;
  TensorEntry scales() const;
};

// The tensors of one file.
std::vector<SynthTensor> EndTensors(const SynthShape& shape);  // embedding, head, last norm
std::vector<SynthTensor> LayerTensors(const SynthShape& shape, uint32_t layer, Format experts);
// The layer for drafts, which published checkpoints have behind the others. Models written here do
// not.
std::vector<SynthTensor> MtpTensors(const SynthShape& shape, Format experts);

}  // namespace coli
