// Writes a model with weights that mean nothing and sizes, formats and statistics of a real one: to
// measure speed with. It opens, runs and answers in nonsense.
//
// What is realistic about it: every size; the codes of its matrices (synth/row_pool.h); and how
// consecutive tokens share experts. Token vectors are a part that is common to all (some experts
// are popular), a part common to the tokens of a topic, and one of their own; the head prefers the
// topic of the last token, so that a text stays in it for a while.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "synth/shape.h"

namespace coli {

struct SynthOptions {
  SynthShape shape;
  std::string expert_format = "int4-row";         // a name that ParseFormat knows
  std::filesystem::path out;                      // made; must be empty where it exists
  std::vector<std::filesystem::path> text_files;  // tokenizer and the like, copied
  uint64_t seed = 1;
  bool sparse = false;  // headers only: the weights are holes, which read as zeros
  std::function<void(uint64_t done, uint64_t total)> progress;  // bytes
  std::function<bool()> cancelled;
};

// Whether experts can be written in the format of that name: most, but not mxfp4.
bool IsFileFormat(std::string_view name);

// Everything that uses all tokens is int8-row, what chooses (router, indexer weights, norms) f32.
// `config.json` is written last: a directory without it is no model, whatever else a power cut
// left there. After an error or a cancellation what was written is removed.
//
// Memory: two matrices of vocab_size x hidden_size bytes and 2 MB for each kind of matrix (in
// fp8-e4m3-b128 1 KB for each of its columns): about 100 MB for glm-5.2 and its 3,072 tokens.
// Errors: kInvalidArgument (`out` is not empty), kUnsupported (a format that there is not, or not
// in files), kIo (the drive is too small, or fails), kCancelled. Gives the bytes of the weights.
Result<uint64_t> Synthesize(const SynthOptions& options);

}  // namespace coli
